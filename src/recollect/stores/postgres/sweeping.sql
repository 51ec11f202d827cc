-- Statements for sweeping: which files still contain erased rows, and which transactions still see them. Transaction
-- numbers have 64 bits, as `xid8` does; the catalog only has the age of a transaction.

-- name: unswept
-- The partitions to sweep: the number of erasures, the transaction of the last one as recorded, and the same number
-- limited to those that this server has used. A higher number comes from another server, from which the tables were
-- restored.
SELECT u.part, count(*), max(u.erased_by::text::bigint),
       least(max(u.erased_by::text::bigint), pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1)
FROM unswept u GROUP BY u.part ORDER BY u.part;

-- name: part_of
SELECT substring(k.relname FROM '[0-9]+$')::smallint FROM roots r JOIN pg_class k ON k.oid = r.tableoid
WHERE r.root = %(root)s;

-- name: tables
-- The tables of a partition: size, file, the transaction before which no row in the file was deleted, and the size of
-- the largest vector index. Tables without partitions do not belong to a root.
SELECT c.oid::bigint, c.relname, pg_total_relation_size(c.oid), pg_relation_filenode(c.oid)::bigint,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint - age(c.relfrozenxid),
       coalesce((
           SELECT max(pg_relation_size(i.indexrelid)) FROM pg_index i JOIN pg_class k ON k.oid = i.indexrelid
           WHERE i.indrelid = c.oid AND k.relname LIKE 'near\_%%'
       ), 0)
FROM pg_class c
WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind = 'r' AND c.relispartition
  AND c.relname LIKE '%%\_' || %(part)s
ORDER BY c.relname;

-- name: owner
SELECT quote_ident(pg_get_userbyid(relowner)), pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = 'memories'::regclass;

-- name: who_sees
-- What may still see the rows that a transaction erased, the oldest first.
WITH next (number) AS (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint), seeing (who, age) AS (
    SELECT 'process ' || pid, greatest(age(backend_xmin), age(backend_xid)) FROM pg_stat_activity
    WHERE pid <> pg_backend_pid() AND (datname = current_database() OR datname IS NULL)
    UNION ALL
    SELECT 'prepared transaction ' || quote_literal(gid), age(transaction) FROM pg_prepared_xacts
    WHERE database = current_database()
    UNION ALL
    SELECT 'replication slot ' || quote_literal(slot_name), age(xmin) FROM pg_replication_slots
)
SELECT seeing.who FROM seeing, next WHERE next.number - seeing.age <= %(erased_by)s ORDER BY seeing.age DESC, seeing.who;

-- name: swept
DELETE FROM unswept WHERE part = %(part)s AND erased_by <= %(last)s::text::xid8;

-- name: may_read_files
SELECT has_function_privilege('pg_catalog.pg_read_binary_file(text, bigint, bigint, boolean)', 'EXECUTE');

-- name: files
-- Every file of these tables: rows, TOAST data and indexes; and last the files of the planner's column statistics.
WITH known (number, name, place) AS (
    SELECT c.oid, c.relname, 1 FROM pg_class c WHERE c.oid::bigint = ANY (%(tables)s::bigint[])
    UNION ALL SELECT 'pg_statistic'::regclass, 'pg_statistic', 2
), kept (number, name, place) AS (
    SELECT number, name, place FROM known
    UNION ALL SELECT c.reltoastrelid, name, place FROM known JOIN pg_class c ON c.oid = number WHERE c.reltoastrelid <> 0
), filed (number, name, place, is_index) AS (
    SELECT number, name, place, false FROM kept
    UNION ALL SELECT i.indexrelid, name, place, true FROM kept JOIN pg_index i ON i.indrelid = number
)
SELECT name, pg_relation_filepath(number), is_index FROM filed
WHERE pg_relation_filepath(number) IS NOT NULL ORDER BY place, name, is_index, number;

-- name: block
SELECT pg_read_binary_file(%(path)s, %(start)s, %(length)s, true);
