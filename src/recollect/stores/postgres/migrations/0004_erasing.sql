-- The parts of the tables whose files may still have what was erased: the number that the names of their partitions end
-- with, and the transaction that erased it. A row goes when these files were written anew. It is of no root.
CREATE TABLE unswept (
    part smallint NOT NULL,
    erased_by xid8 NOT NULL,
    PRIMARY KEY (part, erased_by)
);

-- Whoever may use the other tables may use it.
DO $$
DECLARE
    may record;
BEGIN
    FOR may IN
        SELECT acl.privilege_type AS what, CASE acl.grantee WHEN 0 THEN 'PUBLIC' ELSE acl.grantee::regrole::text END AS who
        FROM pg_class c CROSS JOIN aclexplode(c.relacl) acl
        WHERE c.oid = 'keys'::regclass AND acl.grantee <> c.relowner
    LOOP
        EXECUTE format('GRANT %s ON unswept TO %s', may.what, may.who);
    END LOOP;
END
$$;

-- The server keeps samples of what columns hold, for its planner, where no erasure reaches them. Of columns with what
-- somebody said, gave or is known by it keeps none: they are looked up by indexes that begin with the root. The same
-- of indexes whose columns are computed.
DO $$
DECLARE
    kept record;
BEGIN
    FOR kept IN
        SELECT c.relname AS name, a.attname AS field
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind = 'p'
          AND a.atttypid IN ('text'::regtype, 'bytea'::regtype, '{vectors}.vector'::regtype)
          AND a.attname NOT IN ('kind', 'status', 'level', 'use', 'verdict', 'analyser', 'naming')
    LOOP
        EXECUTE format('ALTER TABLE %I ALTER COLUMN %I SET STATISTICS 0', kept.name, kept.field);
    END LOOP;
    FOR kept IN
        SELECT c.relname AS name, a.attnum AS field
        FROM pg_index i
        JOIN pg_class c ON c.oid = i.indexrelid
        JOIN pg_attribute a ON a.attrelid = i.indexrelid AND i.indkey[a.attnum - 1] = 0
        WHERE c.relnamespace = 'recollect'::regnamespace
    LOOP
        EXECUTE format('ALTER INDEX %I ALTER COLUMN %s SET STATISTICS 0', kept.name, kept.field);
    END LOOP;
END
$$;
