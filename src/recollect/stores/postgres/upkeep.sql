-- Statements for maintenance: erasing, counting, exporting. Dates are microseconds since 1970, UTC.

-- name: own_places
SELECT m.id, m.number, m.scope FROM memories m JOIN scopes p ON (p.root, p.number) = (m.root, m.scope)
WHERE m.root = %(root)s AND p.path = %(path)s AND m.id = ANY (ARRAY(SELECT json_array_elements_text(%(ids)s::json)));

-- name: all_places
SELECT m.id, m.number, m.scope FROM memories m JOIN scopes p ON (p.root, p.number) = (m.root, m.scope)
WHERE m.root = %(root)s AND p.path = %(path)s;

-- name: lineage
-- Sources and parents of a scope's memories, from all of their versions: of every memory, or only where there are any.
WITH said (id, more) AS (
    SELECT m.id, m.more FROM memories m WHERE m.root = %(root)s AND m.scope = {scope}
    UNION ALL
    SELECT m.id, v.more FROM versions v JOIN memories m ON (m.root, m.number) = (v.root, v.memory)
    WHERE m.root = %(root)s AND m.scope = {scope}
)
SELECT DISTINCT said.id, n.more ->> 'source', coalesce(n.more ->> 'derived_from', '[]')
FROM said CROSS JOIN LATERAL {noted:said}
WHERE %(every)s OR n.more ->> 'source' IS NOT NULL OR n.more ->> 'derived_from' IS NOT NULL;

-- name: said_by
-- The contents of a memory and its former versions; the text and vector indexes are built from nothing else.
SELECT c.number, c.title, c.text, c.hash, c.terms, c.entities FROM contents c
WHERE c.root = %(root)s AND c.number = ANY (ARRAY(
    SELECT content FROM memories WHERE root = %(root)s AND number = %(memory)s
    UNION SELECT content FROM versions WHERE root = %(root)s AND memory = %(memory)s
));

-- name: vectors_of
SELECT value FROM vectors WHERE root = %(root)s AND content = %(content)s;

-- name: noted_by
-- What a memory and its former versions have besides their text.
SELECT topic_key, subject, hash, likeness, more FROM memories WHERE root = %(root)s AND number = %(memory)s
UNION ALL
SELECT topic_key, subject, hash, likeness, more FROM versions WHERE root = %(root)s AND memory = %(memory)s;

-- name: happened_to
-- How often a memory was used and voted on.
SELECT (SELECT count(*) FROM uses WHERE root = %(root)s AND memory = %(memory)s),
       (SELECT count(*) FROM votes WHERE root = %(root)s AND memory = %(memory)s);

-- name: checkpoints_of
SELECT name, value FROM checkpoints WHERE root = %(root)s AND scope = %(scope)s;

-- name: keys_of
SELECT key, body FROM keys WHERE root = %(root)s AND memory = %(memory)s;

-- name: all_contexts
SELECT id, trace FROM contexts WHERE root = %(root)s;

-- name: contexts_of
SELECT c.id, c.trace FROM contexts c JOIN scopes p ON (p.root, p.number) = (c.root, c.scope)
WHERE c.root = %(root)s AND p.path = %(path)s;

-- name: checkpointed_scope
-- The number of a scope, if it has checkpoints.
SELECT p.number FROM scopes p WHERE p.root = %(root)s AND p.path = %(path)s AND EXISTS (
    SELECT FROM checkpoints k WHERE k.root = %(root)s AND k.scope = p.number
);

-- name: drop_context
DELETE FROM contexts WHERE root = %(root)s AND id = %(id)s;

-- name: votes_above
-- All votes on those memories of the scope's ancestors that the scope voted on: in one of these contexts, or by its
-- name.
SELECT v.memory, v.scope, v.number, v.context, v.by, v.use, v.at
FROM votes v
WHERE v.root = %(root)s AND v.memory = ANY (ARRAY(
    SELECT c.memory FROM votes c JOIN memories o ON (o.root, o.number) = (c.root, c.memory)
    WHERE o.root = %(root)s AND o.scope = ANY ({ancestors})
      AND (c.by = %(path)s OR c.context = ANY (ARRAY(SELECT json_array_elements_text(%(contexts)s::json))))
))
ORDER BY v.memory, v.number;

-- name: unname_vote
UPDATE votes SET context = %(context)s, by = %(by)s WHERE root = %(root)s AND number = %(number)s;

-- name: recount_votes
UPDATE usage SET helped = %(helped)s, misled = %(misled)s WHERE root = %(root)s AND memory = %(memory)s;

-- name: recount_scope
-- Invalidates everything that readers have cached of the scope.
UPDATE scopes SET emptied = emptied + 1 WHERE root = %(root)s AND number = %(scope)s;

-- name: uncount_signs
-- Takes back the signs of these contexts on memories of a scope's ancestors; `drop_signs` comes next.
UPDATE usage SET quoted = usage.quoted - s.quoted, followed = usage.followed - s.followed
FROM (
    SELECT u.memory, count(*) FILTER (WHERE u.use = 'quoted') AS quoted,
           count(*) FILTER (WHERE u.use = 'followed') AS followed
    FROM uses u JOIN memories m ON (m.root, m.number) = (u.root, u.memory)
    WHERE u.root = %(root)s AND u.context = ANY (ARRAY(SELECT json_array_elements_text(%(contexts)s::json)))
      AND u.use IN ('quoted', 'followed') AND m.scope = ANY ({ancestors})
    GROUP BY u.memory
) s
WHERE usage.root = %(root)s AND usage.memory = s.memory;

-- name: drop_signs
DELETE FROM uses
WHERE root = %(root)s AND use IN ('quoted', 'followed')
  AND context = ANY (ARRAY(SELECT json_array_elements_text(%(contexts)s::json)))
  AND memory IN (SELECT m.number FROM memories m WHERE m.root = %(root)s AND m.scope = ANY ({ancestors}));

-- name: unname_uses
-- Memories of a scope's ancestors keep their uses, without the context.
UPDATE uses SET context = NULL
WHERE root = %(root)s AND context = ANY (ARRAY(SELECT json_array_elements_text(%(contexts)s::json))) AND memory IN (
    SELECT m.number FROM memories m WHERE m.root = %(root)s AND m.scope = ANY ({ancestors})
);

-- name: unname_scope
-- The row stays, so that its number is never given to another scope; no real path contains a blank. See
-- `scope_emptied`.
WITH erased AS (
    INSERT INTO unswept (part, erased_by)
    SELECT {part:s}, pg_current_xact_id() FROM scopes s WHERE s.root = %(root)s AND s.path = %(path)s
    ON CONFLICT DO NOTHING
)
UPDATE scopes SET path = 'erased ' || number WHERE root = %(root)s AND path = %(path)s;

-- name: counts
-- How many memories there are of each scope, status and kind, and how many of them lack a vector.
SELECT p.path, m.status, m.kind, count(*), count(*) FILTER (WHERE NOT EXISTS (
    SELECT FROM vectors v
    WHERE {within:v} AND (v.root, v.content, v.encoder) = (m.root, m.content, %(encoder)s)
) AND NOT {unembedded:m})
FROM memories m
JOIN scopes p ON (p.root, p.number) = (m.root, m.scope)
WHERE {within:m} AND m.scope IN ({inside})
GROUP BY p.path, m.status, m.kind;

-- name: more_counts
-- Former versions, contexts, and counted uses and votes.
WITH inside (number) AS ({inside})
SELECT
    (
        SELECT count(*) FROM versions v JOIN memories m ON (m.root, m.number) = (v.root, v.memory)
        WHERE {within:m} AND m.scope IN (SELECT number FROM inside)
    ),
    (SELECT count(*) FROM contexts c WHERE {within:c} AND c.scope IN (SELECT number FROM inside)),
    coalesce(sum(u.served), 0)::bigint, coalesce(sum(u.echoed), 0)::bigint,
    coalesce(sum(u.helped), 0)::bigint, coalesce(sum(u.misled), 0)::bigint,
    coalesce(sum(u.quoted), 0)::bigint, coalesce(sum(u.followed), 0)::bigint
FROM usage u WHERE {within:u} AND u.scope IN (SELECT number FROM inside);

-- name: inventory
-- The number of memories and contexts, and the time of the last commit about a memory or its use, of any root.
WITH inside (number) AS ({inside}), taken_in (root, changed) AS (
    SELECT m.root, m.changed FROM memories m WHERE {within:m} AND m.scope IN (SELECT number FROM inside)
    UNION ALL
    SELECT u.root, u.changed FROM usage u WHERE {within:u} AND u.scope IN (SELECT number FROM inside)
)
SELECT
    (SELECT count(*) FROM memories m WHERE {within:m} AND m.scope IN (SELECT number FROM inside)),
    (SELECT count(*) FROM contexts c WHERE {within:c} AND c.scope IN (SELECT number FROM inside)),
    (
        SELECT max(c.recorded_at)
        FROM (SELECT root, max(changed) AS changed FROM taken_in GROUP BY root) l
        JOIN commits c ON (c.root, c.number) = (l.root, l.changed) AND {within:c}
    );

-- name: numbers_to_save
SELECT m.number FROM memories m WHERE {within:m} AND m.scope IN ({inside}) ORDER BY m.number;

-- name: saved_memories
SELECT m.number, m.content, m.id, p.path, {state:m}
FROM memories m JOIN scopes p ON (p.root, p.number) = (m.root, m.scope)
WHERE {within:m} AND m.number = ANY ({memories}) ORDER BY m.number;

-- name: saved_versions
SELECT v.memory, v.content, {state:v}
FROM memories m JOIN versions v ON (v.root, v.memory) = (m.root, m.number)
WHERE {within:m} AND m.number = ANY ({memories}) ORDER BY v.memory, v.number;

-- name: saved_contents
SELECT c.number, c.title, c.text, {vector:c}
FROM contents c
WHERE {within:c} AND c.number = ANY (ARRAY(SELECT json_array_elements_text(%(contents)s::json)::bigint));

-- name: saved_uses
SELECT u.memory, u.use, u.at, u.context, u.changed, c.recorded_at
FROM memories m
JOIN uses u ON (u.root, u.memory) = (m.root, m.number) JOIN commits c ON (c.root, c.number) = (u.root, u.changed)
WHERE {within:m} AND m.number = ANY ({memories}) ORDER BY u.memory, u.number;

-- name: saved_votes
SELECT v.memory, v.context, v.by, v.use, v.at, v.changed, c.recorded_at
FROM memories m
JOIN votes v ON (v.root, v.memory) = (m.root, m.number) JOIN commits c ON (c.root, c.number) = (v.root, v.changed)
WHERE {within:m} AND m.number = ANY ({memories}) ORDER BY v.memory, v.number;

-- name: saved_keys
SELECT k.memory, k.key, k.body, m.id, k.verdict, k.at
FROM memories m JOIN keys k ON (k.root, k.memory) = (m.root, m.number)
WHERE {within:m} AND m.number = ANY ({memories}) ORDER BY k.memory, k.key;

-- name: contexts_to_save
-- Each id once, since several roots may have a context with the same id.
SELECT DISTINCT c.id FROM contexts c WHERE {within:c} AND c.scope IN ({inside}) ORDER BY c.id;

-- name: saved_contexts
SELECT c.trace FROM contexts c
WHERE {within:c} AND c.id = ANY (ARRAY(SELECT json_array_elements_text(%(contexts)s::json))) ORDER BY c.id, c.root;

-- name: any_context
SELECT c.trace FROM contexts c WHERE c.root = %(root)s AND c.id = %(id)s;

-- name: load_commit
INSERT INTO commits (root, number, recorded_at, token) VALUES (%(root)s, %(commit)s, %(recorded_at)s, %(token)s)
ON CONFLICT (root, number) DO NOTHING;

-- name: load_version
INSERT INTO versions (root, memory, scope, until, content, {state:})
SELECT root, number, scope, %(until)s, %(content)s, {values} FROM memories
WHERE root = %(root)s AND number = %(memory)s;

-- name: load_stamps
-- Updates the numbers of the last change and use of a scope that was imported into.
UPDATE scopes SET
    changed = greatest(
        changed, (SELECT max(m.changed) FROM memories m WHERE m.root = %(root)s AND m.scope = %(scope)s)
    ),
    used = greatest(used, (SELECT max(u.changed) FROM usage u WHERE u.root = %(root)s AND u.scope = %(scope)s))
WHERE root = %(root)s AND number = %(scope)s;

-- name: bytes
-- The size of all tables of the store, with their indexes.
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
FROM pg_class c WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind = 'r';

-- name: all_commits
SELECT root, number, recorded_at FROM commits;
