-- Statements about the indexes of the nearest. One is made for the vectors that a model gave a scope, on the partition that
-- these are in, and its name has both numbers: near_ENCODER_SCOPE.

-- name: owner
-- Whose the tables are, and whether whoever asks is as good as that.
SELECT quote_ident(pg_get_userbyid(relowner)), pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = 'vectors'::regclass;

-- name: scope_number
SELECT number FROM scopes WHERE root = %(root)s AND path = %(path)s;

-- name: vectors_to_index
-- How many vectors of a model a scope has, and the partition that they are in.
SELECT count(*), (SELECT c.relname FROM pg_class c WHERE c.oid = min(v.tableoid))
FROM vectors v WHERE v.root = %(root)s AND v.scope = %(scope)s AND v.encoder = %(encoder)s;

-- name: indexes
-- All of them. A scope that was erased has a path with a blank; a model that was, a name that begins with one and its number.
SELECT n.scope, k.relname, s.path, regexp_replace(e.name, '^ [0-9]+ ', ''), coalesce(e.present, false),
       greatest(k.reltuples, 0)::bigint, coalesce(pg_relation_size(k.oid), 0), i.indisvalid
FROM pg_inherits h
JOIN pg_index i ON i.indrelid = h.inhrelid
JOIN pg_class k ON k.oid = i.indexrelid
CROSS JOIN LATERAL (
    SELECT substring(k.relname FROM '^near_([0-9]+)_[0-9]+$')::bigint AS encoder,
           substring(k.relname FROM '^near_[0-9]+_([0-9]+)$')::bigint AS scope
) n
LEFT JOIN encoders e ON e.number = n.encoder
LEFT JOIN scopes s ON s.number = n.scope AND s.path NOT LIKE '% %'
WHERE h.inhparent = 'vectors'::regclass AND n.scope IS NOT NULL
ORDER BY s.path, k.relname;
