-- Statements for maintenance: erasing, counting, exporting, checking. Dates are microseconds since 1970, UTC.

-- name: pages
-- Every page in use, with the table that its rows belong to, also for pages of an index.
SELECT d.pageno, coalesce(s.tbl_name, d.name), d.pagetype, d.payload
FROM dbstat d LEFT JOIN sqlite_schema s ON s.name = d.name;

-- name: own_places
SELECT m.id, m.number, m.scope FROM memories m JOIN scopes p ON p.number = m.scope
WHERE p.path = :path AND m.id IN (SELECT value FROM json_each(:ids));

-- name: all_places
SELECT m.id, m.number, m.scope FROM memories m JOIN scopes p ON p.number = m.scope WHERE p.path = :path;

-- name: lineage
-- Sources and parents of a scope's memories, from all of their versions: of every memory, or only where there are any.
WITH said (memory, more) AS (
    SELECT m.number, m.more FROM memories m JOIN scopes p ON p.number = m.scope WHERE p.path = :path
    UNION ALL
    SELECT v.memory, v.more
    FROM versions v JOIN memories m ON m.number = v.memory JOIN scopes p ON p.number = m.scope WHERE p.path = :path
)
SELECT DISTINCT m.id, said.more ->> 'source', coalesce(said.more -> 'derived_from', '[]')
FROM said JOIN memories m ON m.number = said.memory
WHERE :every OR said.more ->> 'source' IS NOT NULL OR said.more -> 'derived_from' IS NOT NULL;

-- name: said_by
-- The contents of a memory and its former versions; the text and vector indexes are built from nothing else.
SELECT c.number, c.title, c.text, c.hash, c.terms, c.entities FROM contents c
WHERE c.number IN (
    SELECT content FROM memories WHERE number = :memory UNION SELECT content FROM versions WHERE memory = :memory
);

-- name: vectors_of
SELECT value FROM vectors WHERE key BETWEEN 256 * :content AND 256 * :content + 255;

-- name: noted_by
-- What a memory and its former versions have besides their text.
SELECT topic_key, subject, hash, likeness, more FROM memories WHERE number = :memory
UNION ALL SELECT topic_key, subject, hash, likeness, more FROM versions WHERE memory = :memory;

-- name: happened_to
-- How often a memory was used and voted on.
SELECT (SELECT count(*) FROM uses WHERE memory = :memory), (SELECT count(*) FROM votes WHERE memory = :memory);

-- name: checkpoints_of
SELECT name, value FROM checkpoints WHERE scope = :scope;

-- name: keys_of
SELECT key, body FROM keys WHERE memory = :memory;

-- name: all_contexts
SELECT id, trace FROM contexts;

-- name: contexts_of
SELECT c.id, c.trace FROM contexts c JOIN scopes p ON p.number = c.scope WHERE p.path = :path;

-- name: checkpointed_scope
-- The number of a scope, if it has checkpoints.
SELECT p.number FROM scopes p WHERE p.path = :path AND EXISTS (SELECT 1 FROM checkpoints k WHERE k.scope = p.number);

-- name: drop_context
DELETE FROM contexts WHERE id = :id;

-- name: votes_above
-- All votes on those memories of the scope's ancestors that the scope voted on: in one of these
-- contexts, or by its name.
SELECT v.memory, m.scope, v.number, v.context, v.by, v.use, v.at
FROM votes v JOIN memories m ON m.number = v.memory
WHERE v.memory IN (
    SELECT c.memory FROM votes c JOIN memories o ON o.number = c.memory JOIN scopes p ON p.number = o.scope
    WHERE p.path IN (SELECT value FROM json_each(:ancestors))
      AND (c.by = :path OR c.context IN (SELECT value FROM json_each(:contexts)))
)
ORDER BY v.memory, v.number;

-- name: unname_vote
UPDATE votes SET context = :context, by = :by WHERE number = :number;

-- name: recount_votes
UPDATE usage SET helped = :helped, misled = :misled WHERE memory = :memory;

-- name: recount_scope
-- Invalidates everything that readers have cached of the scope.
UPDATE scopes SET emptied = emptied + 1 WHERE number = :scope;

-- name: uncount_signs
-- Takes back the signs of these contexts on memories of a scope's ancestors; `drop_signs` comes next.
UPDATE usage SET (quoted, followed) = (
    SELECT usage.quoted - count(*) FILTER (WHERE s.use = 'quoted'),
           usage.followed - count(*) FILTER (WHERE s.use = 'followed')
    FROM uses s
    WHERE s.memory = usage.memory AND s.context IN (SELECT value FROM json_each(:contexts))
      AND s.use IN ('quoted', 'followed')
)
WHERE memory IN (
    SELECT s.memory FROM uses s JOIN memories m ON m.number = s.memory JOIN scopes p ON p.number = m.scope
    WHERE s.use IN ('quoted', 'followed') AND s.context IN (SELECT value FROM json_each(:contexts))
      AND p.path IN (SELECT value FROM json_each(:ancestors))
);

-- name: drop_signs
DELETE FROM uses
WHERE use IN ('quoted', 'followed') AND context IN (SELECT value FROM json_each(:contexts)) AND memory IN (
    SELECT m.number FROM memories m JOIN scopes p ON p.number = m.scope
    WHERE p.path IN (SELECT value FROM json_each(:ancestors))
);

-- name: unname_uses
-- Memories of a scope's ancestors keep their uses, without the context.
UPDATE uses SET context = NULL
WHERE context IN (SELECT value FROM json_each(:contexts)) AND memory IN (
    SELECT m.number FROM memories m JOIN scopes p ON p.number = m.scope
    WHERE p.path IN (SELECT value FROM json_each(:ancestors))
);

-- name: unname_scope
-- The row stays, so that its number is never given to another scope; no real path contains a blank.
UPDATE scopes SET path = 'erased ' || number WHERE path = :path;

-- name: counts
-- How many memories there are of each scope, status and kind, and how many of them lack a vector.
SELECT p.path, m.status, m.kind, count(*), sum(v.key IS NULL AND NOT {unembedded:m})
FROM memories m
JOIN scopes p ON p.number = m.scope
LEFT JOIN vectors v ON v.key = 256 * m.content + :encoder
WHERE m.scope IN ({inside})
GROUP BY p.path, m.status, m.kind;

-- name: more_counts
-- Former versions, contexts, and counted uses and votes.
WITH inside (number) AS ({inside})
SELECT
    (SELECT count(*) FROM versions v JOIN memories m ON m.number = v.memory WHERE m.scope IN inside),
    (SELECT count(*) FROM contexts c WHERE c.scope IN inside),
    total(u.served), total(u.echoed), total(u.helped), total(u.misled), total(u.quoted), total(u.followed)
FROM usage u WHERE u.scope IN inside;

-- name: inventory
-- The number of memories and contexts, and the time of the last commit about a memory or its use.
WITH inside (number) AS ({inside})
SELECT
    (SELECT count(*) FROM memories WHERE scope IN inside),
    (SELECT count(*) FROM contexts WHERE scope IN inside),
    (SELECT recorded_at FROM commits WHERE number = max(
        (SELECT coalesce(max(changed), 0) FROM memories WHERE scope IN inside),
        (SELECT coalesce(max(changed), 0) FROM usage WHERE scope IN inside)
    ));

-- name: numbers_to_save
SELECT number FROM memories WHERE scope IN ({inside}) ORDER BY number;

-- name: saved_memories
SELECT m.number, m.content, m.id, p.path, {state:m}
FROM memories m JOIN scopes p ON p.number = m.scope
WHERE m.number IN (SELECT value FROM json_each(:memories)) ORDER BY m.number;

-- name: saved_versions
SELECT memory, content, {state:} FROM versions
WHERE memory IN (SELECT value FROM json_each(:memories)) ORDER BY memory, number;

-- name: saved_contents
SELECT c.number, c.title, c.text, v.value
FROM contents c LEFT JOIN vectors v ON v.key = 256 * c.number + :encoder
WHERE c.number IN (SELECT value FROM json_each(:contents));

-- name: saved_uses
SELECT u.memory, u.use, u.at, u.context, u.changed, c.recorded_at
FROM uses u JOIN commits c ON c.number = u.changed
WHERE u.memory IN (SELECT value FROM json_each(:memories)) ORDER BY u.memory, u.number;

-- name: saved_votes
SELECT v.memory, v.context, v.by, v.use, v.at, v.changed, c.recorded_at
FROM votes v JOIN commits c ON c.number = v.changed
WHERE v.memory IN (SELECT value FROM json_each(:memories)) ORDER BY v.memory, v.number;

-- name: saved_keys
SELECT k.memory, k.key, k.body, m.id, k.verdict, k.at
FROM keys k JOIN memories m ON m.number = k.memory
WHERE k.memory IN (SELECT value FROM json_each(:memories)) ORDER BY k.memory, k.key;

-- name: contexts_to_save
SELECT id FROM contexts WHERE scope IN ({inside}) ORDER BY id;

-- name: saved_contexts
SELECT trace FROM contexts WHERE id IN (SELECT value FROM json_each(:contexts)) ORDER BY id;

-- name: any_context
SELECT c.trace FROM contexts c WHERE c.id = :id;

-- name: load_commit
INSERT INTO commits (number, recorded_at) VALUES (:commit, :recorded_at) ON CONFLICT (number) DO NOTHING;

-- name: load_version
INSERT INTO versions (memory, until, content, {state:}) VALUES (:memory, :until, :content, {values});

-- name: load_stamps
-- Updates the numbers of the last change and use of a scope that was imported into.
UPDATE scopes SET
    changed = max(changed, coalesce((SELECT max(m.changed) FROM memories m WHERE m.scope = scopes.number), 0)),
    used = max(used, coalesce((SELECT max(u.changed) FROM usage u WHERE u.scope = scopes.number), 0))
WHERE number = :scope;

-- name: check_contents
SELECT number, title, text, hash, terms, analyser, entities, naming FROM contents;

-- name: check_unused_contents
SELECT number FROM contents
WHERE number NOT IN (SELECT content FROM memories NOT INDEXED)
  AND number NOT IN (SELECT content FROM versions NOT INDEXED);

-- name: check_vectors
SELECT v.key / 256, v.value, c.number, e.name, e.dimensions
FROM vectors v LEFT JOIN contents c ON c.number = v.key / 256 LEFT JOIN encoders e ON e.number = v.key % 256;

-- name: check_missing_vectors
SELECT count(*) FROM contents c JOIN encoders e ON e.present = 1
WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.key = 256 * c.number + e.number)
  AND NOT {gone};

-- name: check_states
-- Every version of every memory, the present one last.
SELECT m.number, s.until, c.hash, m.id, p.path, c.title, c.text, {state:s}
FROM (
    SELECT memory, number AS place, until, content, {state:} FROM versions
    UNION ALL
    SELECT number, 9223372036854775807, 9223372036854775807, content, {state:} FROM memories
) s
JOIN memories m ON m.number = s.memory
LEFT JOIN scopes p ON p.number = m.scope
LEFT JOIN contents c ON c.number = s.content
ORDER BY s.memory, s.place;

-- name: made
-- Everything that has its own CREATE statement; indexes that are part of a table's definition do not.
SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name;

-- name: check_twins
-- Reads the table, since a missing or changed index cannot show the duplicates that it let pass.
SELECT p.path, group_concat(m.id, ', ') FROM memories m NOT INDEXED LEFT JOIN scopes p ON p.number = m.scope
WHERE m.status = 'active' GROUP BY m.scope, m.hash, m.topic_key HAVING count(*) > 1;

-- name: check_topics
SELECT p.path, m.topic_key, group_concat(m.id, ', ')
FROM memories m NOT INDEXED LEFT JOIN scopes p ON p.number = m.scope
WHERE m.status = 'active' AND m.topic_key IS NOT NULL GROUP BY m.scope, m.topic_key HAVING count(*) > 1;

-- name: check_names
SELECT 'memories', id FROM memories NOT INDEXED GROUP BY id HAVING count(*) > 1
UNION ALL
SELECT 'scopes', path FROM scopes NOT INDEXED GROUP BY path HAVING count(*) > 1
UNION ALL
SELECT 'models', name FROM encoders NOT INDEXED GROUP BY name, dimensions HAVING count(*) > 1;

-- name: check_present_models
SELECT group_concat(name, ', ') FROM encoders NOT INDEXED WHERE present = 1 HAVING count(*) > 1;

-- name: check_no_present_model
SELECT count(*) FROM vectors WHERE NOT EXISTS (SELECT 1 FROM encoders NOT INDEXED WHERE present = 1) HAVING count(*) > 0;

-- name: check_commits
SELECT number, recorded_at FROM commits ORDER BY number;

-- name: check_unknown_commits
-- Commits that rows refer to and that are not recorded.
SELECT DISTINCT s.changed FROM (
    SELECT changed FROM memories UNION ALL SELECT changed FROM versions UNION ALL SELECT changed FROM uses
    UNION ALL SELECT changed FROM votes UNION ALL SELECT changed FROM usage
) s WHERE s.changed NOT IN (SELECT number FROM commits);

-- name: check_usage
-- The counters, and what the log of uses adds up to; votes are read separately.
SELECT m.number, m.id, m.scope, u.scope, u.served, u.echoed, u.quoted, u.followed, u.last_served_at, u.last_echoed_at,
       u.helped, u.misled,
       count(*) FILTER (WHERE l.use = 'served'), count(*) FILTER (WHERE l.use = 'echoed'),
       count(*) FILTER (WHERE l.use = 'quoted'), count(*) FILTER (WHERE l.use = 'followed'),
       max(l.at) FILTER (WHERE l.use = 'served'), max(l.at) FILTER (WHERE l.use = 'echoed')
FROM memories m LEFT JOIN usage u ON u.memory = m.number LEFT JOIN uses l ON l.memory = m.number
GROUP BY m.number;

-- name: check_stamps
-- Scopes whose last change or use is not recorded, so that readers would miss it.
SELECT p.path FROM scopes p
WHERE p.changed < coalesce((SELECT max(m.changed) FROM memories m WHERE m.scope = p.number), 0)
   OR p.used < coalesce((SELECT max(u.changed) FROM usage u WHERE u.scope = p.number), 0);

-- name: check_contexts
SELECT c.id, p.path, c.trace FROM contexts c LEFT JOIN scopes p ON p.number = c.scope;

-- name: check_keys
SELECT p.path, k.key, k.body, m.id, k.verdict, k.at
FROM keys k LEFT JOIN scopes p ON p.number = k.scope LEFT JOIN memories m ON m.number = k.memory;

-- name: one_to_recall
-- The newest memory that can be recalled at any time, with its vector; not a timeline record.
SELECT m.id, p.path, c.title, c.text, {state:m}, e.name, e.dimensions, v.value
FROM memories m
JOIN scopes p ON p.number = m.scope
JOIN contents c ON c.number = m.content
JOIN encoders e ON e.present = 1
JOIN vectors v ON v.key = 256 * m.content + e.number
WHERE m.status = 'active' AND m.level IS NULL AND m.valid_until IS NULL
ORDER BY m.number DESC LIMIT 1;

-- name: check_votes
SELECT memory, context, by, use, at FROM votes ORDER BY memory, number;
