-- Statements about vector indexes. Each covers the vectors of one scope and one model and belongs to the partition that
-- has them. Its name contains both numbers: near_ENCODER_SCOPE.

-- name: owner
-- The owner of the tables, and whether the current role has the owner's rights.
SELECT quote_ident(pg_get_userbyid(relowner)), pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = 'vectors'::regclass;

-- name: scope_number
SELECT number FROM scopes WHERE root = %(root)s AND path = %(path)s;

-- name: vectors_to_index
-- The number of vectors that a scope has of a model, and their partition.
SELECT count(*), (SELECT c.relname FROM pg_class c WHERE c.oid = min(v.tableoid))
FROM vectors v WHERE v.root = %(root)s AND v.scope = %(scope)s AND v.encoder = %(encoder)s;

-- name: indexes
-- All vector indexes. An erased scope has a path with a blank; a retired model has a name that begins with a blank and
-- its number.
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
