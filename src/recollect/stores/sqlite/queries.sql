-- The statements of the SQLite store for reading and writing. Dates are microseconds since 1970, UTC.

-- name: last_commit
SELECT number, recorded_at FROM commits
UNION ALL SELECT 0, 0
ORDER BY number DESC LIMIT 1;

-- name: commit_known_at
SELECT coalesce((SELECT number FROM commits WHERE recorded_at <= :at ORDER BY number DESC LIMIT 1), 0);

-- name: add_commit
INSERT INTO commits (number, recorded_at) VALUES (:commit, :recorded_at);

-- name: present_encoder
SELECT number, name, dimensions FROM encoders WHERE present = 1;

-- name: lock_encoders
-- Prevents others from adopting a model until the transaction ends; nothing to do, as SQLite has one writer at a time.
SELECT 1;

-- name: add_encoder
INSERT INTO encoders (number, name, dimensions, present)
VALUES ((SELECT coalesce(max(number), 0) + 1 FROM encoders), :name, :dimensions, 1)
ON CONFLICT (name, dimensions) DO UPDATE SET present = 1;  -- re-embedding began before the first memory

-- name: add_scope
INSERT INTO scopes (path) VALUES (:path) ON CONFLICT (path) DO UPDATE SET path = excluded.path RETURNING number;

-- name: scope_stamps
SELECT path, number, changed, used, emptied FROM scopes WHERE path IN (SELECT value FROM json_each(:paths));

-- name: scope_changed
UPDATE scopes SET changed = :commit WHERE number = :scope;

-- name: scope_used
UPDATE scopes SET used = :commit WHERE number = :scope;

-- name: scope_emptied
UPDATE scopes SET changed = :commit, emptied = emptied + 1 WHERE number = :scope;

-- name: entries
-- The memories of a scope that changed after a commit (0: all), with everything that the column cache keeps. Of the
-- text it reads only the end, which shows whether it is a question.
SELECT m.number, m.changed, m.id, m.kind, {levels:m}, {standing:m},
       m.shared, m.pinned,
       m.importance, m.confidence, m.salience, m.revisions, m.created_at, m.updated_at, m.valid_from, m.valid_until,
       coalesce(u.served, 0), coalesce(u.helped, 0), coalesce(u.misled, 0), u.last_served_at,
       m.more ->> '$.session', m.more ->> '$.speaker', {end}, {worded:m}, v.value
FROM memories m
JOIN contents c ON c.number = m.content
LEFT JOIN vectors v ON v.key = 256 * m.content + :encoder
LEFT JOIN usage u ON u.memory = m.number
WHERE m.scope = :scope AND m.changed > :after AND (m.shared OR :unshared);

-- name: entries_count
SELECT count(*) FROM memories WHERE scope = :scope AND changed > :after;

-- name: uses_since
SELECT memory, served, helped, misled, last_served_at FROM usage WHERE scope = :scope AND changed > :after;

-- name: entries_known_at
-- The memories of a scope as they were after a commit, if they changed after an earlier one (0: all). Their usage is
-- read separately.
SELECT m.number, s.changed, m.id, s.kind, {levels:s}, {standing:s},
       s.shared, s.pinned,
       s.importance, s.confidence, s.salience, s.revisions, s.created_at, s.updated_at, s.valid_from, s.valid_until,
       s.more ->> '$.session', s.more ->> '$.speaker', {end}, {worded:s}, v.value
FROM memories m
JOIN (
    SELECT number AS memory, changed, kind, level, status, shared, pinned, importance, confidence, salience, revisions,
           created_at, updated_at, valid_from, valid_until, more, content
    FROM memories WHERE scope = :scope AND changed > :after AND changed <= :commit
    UNION ALL
    SELECT memory, v.changed, v.kind, v.level, v.status, v.shared, v.pinned, v.importance, v.confidence, v.salience,
           v.revisions, v.created_at, v.updated_at, v.valid_from, v.valid_until, v.more, v.content
    FROM versions v JOIN memories o ON o.number = v.memory
    WHERE o.scope = :scope AND o.changed > :commit AND v.changed > :after AND v.changed <= :commit AND v.until > :commit
) s ON s.memory = m.number
JOIN contents c ON c.number = s.content
LEFT JOIN vectors v ON v.key = 256 * s.content + :encoder
WHERE s.shared OR :unshared;

-- name: entries_as_of
-- Former versions at a moment, as known after a commit: the last version whose text was observed by then. The second
-- column is the minus version number instead of the commit, as one commit may have several versions of a memory. The
-- status is set only if the memory was put away by then.
SELECT v.memory, -v.number, iif(v.status IN ('active', 'superseded') OR v.recorded_at > :at, NULL, v.status), v.kind,
       v.level, v.importance, v.confidence, v.salience, v.revisions,
       v.created_at, v.updated_at, v.valid_from, v.valid_until, v.more ->> '$.session', v.more ->> '$.speaker',
       {end}, c.entities, c.terms, w.value
FROM json_each(:memories) asked
JOIN versions v ON v.number = (
    SELECT max(number) FROM versions
    WHERE memory = asked.value AND changed <= :commit AND coalesce(updated_at, created_at) <= :at
      AND (shared OR :unshared)
)
JOIN contents c ON c.number = v.content
LEFT JOIN vectors w ON w.key = 256 * v.content + :encoder;

-- name: served_known_at
-- How often memories of a scope had been served up to a commit, for those served after an earlier commit.
SELECT u.memory, count(*), max(u.at)
FROM usage g JOIN uses u ON u.memory = g.memory
WHERE g.scope = :scope AND g.changed > :after AND u.use = 'served' AND u.changed <= :commit AND EXISTS (
    SELECT 1 FROM uses n WHERE n.memory = g.memory AND n.changed > :after AND n.changed <= :commit
)
GROUP BY u.memory;

-- name: votes_known_at
-- The votes on memories of a scope up to a commit, for those that got a vote after an earlier commit.
SELECT v.memory, v.context, v.by, v.use, v.at
FROM usage g JOIN votes v ON v.memory = g.memory
WHERE g.scope = :scope AND g.changed > :after AND v.changed <= :commit AND EXISTS (
    SELECT 1 FROM votes n WHERE n.memory = g.memory AND n.changed > :after AND n.changed <= :commit
)
ORDER BY v.number;

-- name: served_until
-- How often these memories had been served up to a commit.
SELECT memory, count(*), max(at) FROM uses
WHERE memory IN (SELECT value FROM json_each(:memories)) AND use = 'served' AND changed <= :commit
GROUP BY memory;

-- name: votes_until
-- The votes on these memories up to a commit.
SELECT memory, context, by, use, at FROM votes
WHERE memory IN (SELECT value FROM json_each(:memories)) AND changed <= :commit
ORDER BY number;

-- name: votes_on
SELECT memory, context, by, use, at FROM votes WHERE memory = :memory ORDER BY number;

-- name: votes_in
-- All votes in those of these contexts that belong to the scope, on memories that it may see.
SELECT m.id, v.context, v.by, v.use, v.at
FROM json_each(:contexts) asked
JOIN contexts c ON c.id = asked.value JOIN scopes o ON o.number = c.scope AND o.path = :path
JOIN votes v ON v.context = c.id
JOIN memories m ON m.number = v.memory JOIN scopes p ON p.number = m.scope
WHERE p.path = :path OR (m.shared AND p.path IN (SELECT value FROM json_each(:ancestors)))
ORDER BY v.number;

-- name: signs_in
-- The signs of memories that the scope may see, in those of these contexts that belong to the scope.
SELECT u.context, m.id, u.use
FROM json_each(:contexts) asked
JOIN contexts c ON c.id = asked.value JOIN scopes o ON o.number = c.scope AND o.path = :path
JOIN uses u ON u.context = c.id AND u.use IN ('quoted', 'followed')
JOIN memories m ON m.number = u.memory JOIN scopes p ON p.number = m.scope
WHERE p.path = :path OR (m.shared AND p.path IN (SELECT value FROM json_each(:ancestors)));

-- name: sign
SELECT 1 FROM uses WHERE context = :context AND memory = :memory AND use = :use AND use IN ('quoted', 'followed');

-- name: memories_now
-- Those of these memories that have not changed since the commits given with them.
SELECT m.number, m.id, p.path, c.title, c.text, {state:m}
FROM json_each(:places) asked
JOIN memories m ON m.number = asked.value ->> 0 AND m.changed = asked.value ->> 1
JOIN scopes p ON p.number = m.scope JOIN contents c ON c.number = m.content;

-- name: memories_then
-- Former versions of these memories, as written by the commits given with them. If one commit wrote several versions of
-- a memory, the last one comes last.
SELECT m.number, m.id, p.path, c.title, c.text, {state:v}
FROM json_each(:places) asked
JOIN versions v ON v.memory = asked.value ->> 0 AND v.changed = asked.value ->> 1
JOIN memories m ON m.number = v.memory JOIN scopes p ON p.number = m.scope JOIN contents c ON c.number = v.content
ORDER BY v.number;

-- name: states_of
-- All states of these memories, the present one last: version, commit, content, and whether it has left the vector
-- index.
SELECT v.memory, v.number, v.changed, v.content, {unembedded:v}
FROM json_each(:memories) asked JOIN versions v ON v.memory = asked.value
UNION ALL
SELECT m.number, 9223372036854775807, m.changed, m.content, {unembedded:m}
FROM json_each(:memories) asked JOIN memories m ON m.number = asked.value
ORDER BY 1, 2;

-- name: memory_in_version
-- A memory in a former version, if that version belongs to the memory and the commit knew it: version numbers are
-- reused.
SELECT m.id, p.path, c.title, c.text, {state:v}
FROM versions v
JOIN memories m ON m.number = v.memory JOIN scopes p ON p.number = m.scope JOIN contents c ON c.number = v.content
WHERE v.number = :version AND v.memory = :memory AND v.changed <= :commit;

-- name: memories_by_id
-- Those of these memories that a scope may see: its own, or shared ones of its ancestors.
SELECT m.id, p.path, c.title, c.text, {state:m}
FROM json_each(:ids) asked JOIN memories m ON m.id = asked.value
JOIN scopes p ON p.number = m.scope JOIN contents c ON c.number = m.content
WHERE p.path = :path OR (m.shared AND p.path IN (SELECT value FROM json_each(:ancestors)));

-- name: memory_known_at
SELECT m.id, p.path, c.title, c.text, {state:s}
FROM memories m
JOIN scopes p ON p.number = m.scope
JOIN (
    SELECT number AS memory, content, {state:} FROM memories WHERE id = :id AND changed <= :commit
    UNION ALL
    SELECT memory, content, {state:} FROM versions
    WHERE memory = (SELECT number FROM memories WHERE id = :id) AND changed <= :commit AND until > :commit
) s ON s.memory = m.number
JOIN contents c ON c.number = s.content
WHERE m.id = :id
  AND (p.path = :path OR (s.shared AND p.path IN (SELECT value FROM json_each(:ancestors))));

-- name: own_memory
SELECT m.id, p.path, c.title, c.text, {state:m}
FROM memories m JOIN scopes p ON p.number = m.scope JOIN contents c ON c.number = m.content
WHERE m.id = :id AND p.path = :path;

-- name: heard_of
-- Whether the id exists; whether the scope or an ancestor has the same text; whether the scope has that subject. Most
-- memories are new, and this shows it at far less cost than reading the matching memories.
WITH here (number, path) AS MATERIALIZED (
    SELECT number, path FROM scopes WHERE path IN (SELECT :path UNION ALL SELECT value FROM json_each(:ancestors))
)
SELECT
    EXISTS (SELECT 1 FROM memories WHERE id = :id),
    EXISTS (
        SELECT 1 FROM memories INDEXED BY memories_by_hash
        WHERE scope IN (SELECT number FROM here) AND hash = :hash
    ) OR EXISTS (
        SELECT 1 FROM memories INDEXED BY memories_by_likeness
        WHERE scope IN (SELECT number FROM here) AND likeness = :likeness AND likeness <> ''
    ),
    EXISTS (
        SELECT 1 FROM memories INDEXED BY memories_by_subject
        WHERE scope = (SELECT number FROM here WHERE path = :path) AND subject = :subject
    );

-- name: hearsay
-- The ids and keys of all memories in a scope and its ancestors, for the duplicate index.
SELECT p.path, m.id, m.hash, m.likeness, m.subject
FROM scopes p JOIN memories m ON m.scope = p.number
WHERE p.path IN (SELECT :path UNION ALL SELECT value FROM json_each(:ancestors))
LIMIT :most;

-- name: sayings
-- The memories of a scope with the same text and no other topic: active ones first, then by topic and number.
SELECT m.id, p.path, c.title, c.text, {state:m}
FROM memories m
JOIN scopes p ON p.number = m.scope JOIN contents c ON c.number = m.content
WHERE m.number IN (
    SELECT number FROM memories INDEXED BY memories_by_hash
    WHERE scope = (SELECT number FROM scopes WHERE path = :path) AND hash = :hash
    UNION
    SELECT number FROM memories INDEXED BY memories_by_likeness
    WHERE scope = (SELECT number FROM scopes WHERE path = :path) AND likeness = :likeness AND likeness <> ''
) AND m.level IS NULL AND (:topic_key IS NULL OR m.topic_key IS NULL OR m.topic_key = :topic_key)
ORDER BY m.status <> 'active', m.topic_key IS NOT :topic_key, m.number LIMIT :most;

-- name: said_before
-- The memories of a scope with this text in a former version, and another text now.
SELECT m.id, p.path, c.title, c.text, {state:m}
FROM memories m
JOIN scopes p ON p.number = m.scope JOIN contents c ON c.number = m.content
WHERE m.number IN (SELECT memory FROM versions INDEXED BY versions_by_hash WHERE hash = :hash)
    AND +p.path = :path  -- the plus prevents a scan of the whole scope
    AND m.hash <> :hash AND m.level IS NULL
ORDER BY m.number LIMIT :most;

-- name: about
-- The memories of a scope about a subject that are valid or were so after a moment: active ones first, then by start.
SELECT m.id, p.path, c.title, c.text, {state:m}
FROM memories m INDEXED BY memories_by_subject
JOIN scopes p ON p.number = m.scope JOIN contents c ON c.number = m.content
WHERE m.scope = (SELECT number FROM scopes WHERE path = :path) AND m.subject = :subject
  AND m.level IS NULL AND m.status IN ('active', 'superseded') AND (m.valid_until IS NULL OR m.valid_until > :after)
ORDER BY m.status, coalesce(m.valid_from, m.observed_at, m.created_at), m.id LIMIT :most;

-- name: away_since
-- When a memory got its present status: after the last version with another status.
SELECT coalesce((
    SELECT s.recorded_at FROM versions s WHERE s.memory = m.number AND s.number > coalesce(
        (SELECT max(o.number) FROM versions o WHERE o.memory = m.number AND o.status <> m.status), 0
    ) ORDER BY s.number LIMIT 1
), m.recorded_at)
FROM memories m WHERE m.id = :id;

-- name: written_by
-- The memories of a scope of which a commit wrote a version, present or former.
SELECT id FROM memories WHERE scope = (SELECT number FROM scopes WHERE path = :path) AND changed = :commit
UNION
SELECT m.id FROM memories m JOIN versions v ON v.memory = m.number
WHERE m.scope = (SELECT number FROM scopes WHERE path = :path) AND v.changed = :commit
ORDER BY id;

-- name: memory_before
-- A memory as it was before a commit, with its vector. Former versions come first, the present one last.
SELECT m.id, p.path, c.title, c.text, {state:s}, w.value
FROM memories m
JOIN scopes p ON p.number = m.scope
JOIN (
    SELECT 0 AS place, number AS memory, content, {state:} FROM memories WHERE id = :id AND changed < :commit
    UNION ALL
    SELECT -number, memory, content, {state:} FROM versions
    WHERE memory = (SELECT number FROM memories WHERE id = :id) AND changed < :commit
) s ON s.memory = m.number
JOIN contents c ON c.number = s.content
LEFT JOIN vectors w ON w.key = 256 * s.content + :encoder
WHERE m.id = :id AND p.path = :path
ORDER BY s.place = 0 DESC, s.place LIMIT 1;

-- name: direction
SELECT v.value FROM memories m JOIN vectors v ON v.key = 256 * m.content + :encoder WHERE m.id = :id;

-- name: echoed_at
SELECT 1 FROM uses u JOIN memories m ON m.number = u.memory WHERE m.id = :id AND u.use = 'echoed' AND u.at = :at LIMIT 1;

-- name: twin_id
SELECT id FROM memories
WHERE scope = :scope AND hash = :hash AND status = 'active' AND topic_key IS :topic_key;

-- name: topic_id
SELECT id FROM memories WHERE scope = :scope AND topic_key = :topic_key AND status = 'active';

-- name: topic
SELECT m.id, p.path, c.title, c.text, {state:m}
FROM memories m JOIN scopes p ON p.number = m.scope JOIN contents c ON c.number = m.content
WHERE m.scope = (SELECT number FROM scopes WHERE path = :path) AND m.topic_key = :topic_key AND m.status = 'active'
ORDER BY m.number LIMIT 1;

-- name: history
SELECT m.id, p.path, c.title, c.text, {state:v}
FROM versions v
JOIN memories m ON m.number = v.memory JOIN scopes p ON p.number = m.scope JOIN contents c ON c.number = v.content
WHERE m.id = :id ORDER BY v.number;

-- name: numbers_below
-- The memories of a scope, or of all below it, after an id, up to a limit. The limit also applies to each scope and
-- status.
SELECT m.number
FROM scopes p JOIN json_each(:statuses) asked
JOIN memories m ON m.number IN (
    SELECT number FROM memories
    WHERE scope = p.number AND status = asked.value AND id > :passed ORDER BY id LIMIT coalesce(:limit, -1)
)
WHERE p.number IN (
    SELECT number FROM scopes WHERE path = :path
    UNION ALL
    SELECT number FROM scopes WHERE :below AND path >= :path || '/' AND path < :path || '0'  -- "0" comes after "/"
)
ORDER BY m.id LIMIT coalesce(:limit, -1);

-- name: memories_numbered
-- These memories in this order, if they still exist with one of these statuses.
SELECT m.id, p.path, c.title, c.text, {state:m}
FROM json_each(:numbers) asked
JOIN memories m ON m.number = asked.value
JOIN scopes p ON p.number = m.scope JOIN contents c ON c.number = m.content
WHERE m.status IN (SELECT value FROM json_each(:statuses))
ORDER BY asked.key;

-- name: timeline
-- The records of a scope with these levels and statuses in a time range, ordered by time.
SELECT m.id, p.path, c.title, c.text, {state:m}
FROM memories m INDEXED BY memories_by_level
JOIN scopes p ON p.number = m.scope JOIN contents c ON c.number = m.content
WHERE m.scope = (SELECT number FROM scopes WHERE path = :path) AND m.level IN (SELECT value FROM json_each(:levels))
  AND m.level IS NOT NULL AND m.created_at >= :since AND m.created_at < :before
  AND m.status IN (SELECT value FROM json_each(:statuses))
ORDER BY m.created_at, m.id;

-- name: touched
-- The times of a scope's records of a level that changed after a commit, with the last commit that changed each.
SELECT created_at, max(changed) FROM memories INDEXED BY memories_by_scope
WHERE scope = (SELECT number FROM scopes WHERE path = :path) AND changed > :after AND level = :level
GROUP BY created_at ORDER BY created_at;

-- name: usage_of
SELECT m.id, u.served, u.helped, u.misled, u.echoed, u.quoted, u.followed, u.last_served_at, u.last_echoed_at
FROM json_each(:ids) asked JOIN memories m ON m.id = asked.value
JOIN usage u ON u.memory = m.number JOIN scopes p ON p.number = m.scope
WHERE p.path = :path OR (m.shared AND p.path IN (SELECT value FROM json_each(:ancestors)));

-- name: place
-- The numbers of a memory and its scope, if the scope may see it.
SELECT m.number, m.scope
FROM memories m JOIN scopes p ON p.number = m.scope
WHERE m.id = :id
  AND (p.path = :path OR (m.shared AND p.path IN (SELECT value FROM json_each(:ancestors))));

-- name: present_state
SELECT m.number, m.scope, m.content, m.hash, m.likeness, c.title, c.text
FROM memories m JOIN contents c ON c.number = m.content WHERE m.id = :id;

-- name: add_content
INSERT INTO contents (title, text, hash, terms, analyser, entities, naming)
VALUES (:title, :text, :hash, :terms, :analyser, :entities, :naming)
RETURNING number;

-- name: add_vector
INSERT INTO vectors (key, value) VALUES (256 * :content + :encoder, :value)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: add_memory
-- Returns no row if an active duplicate or the id exists.
INSERT INTO memories (id, scope, content, {state:}) VALUES (:id, :scope, :content, {values})
ON CONFLICT DO NOTHING
RETURNING number;

-- name: keep_version
INSERT INTO versions (memory, until, content, {state:})
SELECT number, :until, content, {state:} FROM memories WHERE number = :memory;

-- name: change_memory
UPDATE memories SET (content, {state:}) = (:content, {values}) WHERE number = :memory;

-- name: add_use
INSERT INTO uses (memory, use, at, context, changed) VALUES (:memory, :use, :at, :context, :commit);

-- name: count_served
INSERT INTO usage (memory, scope, served, last_served_at, changed) VALUES (:memory, :scope, 1, :at, :commit)
ON CONFLICT (memory) DO UPDATE
SET served = served + 1, last_served_at = max(coalesce(last_served_at, :at), :at), changed = :commit;

-- name: count_echoed
INSERT INTO usage (memory, scope, echoed, last_echoed_at, changed) VALUES (:memory, :scope, 1, :at, :commit)
ON CONFLICT (memory) DO UPDATE
SET echoed = echoed + 1, last_echoed_at = max(coalesce(last_echoed_at, :at), :at), changed = :commit;

-- name: count_quoted
INSERT INTO usage (memory, scope, quoted, changed) VALUES (:memory, :scope, 1, :commit)
ON CONFLICT (memory) DO UPDATE SET quoted = quoted + 1, changed = :commit;

-- name: count_followed
INSERT INTO usage (memory, scope, followed, changed) VALUES (:memory, :scope, 1, :commit)
ON CONFLICT (memory) DO UPDATE SET followed = followed + 1, changed = :commit;

-- name: drop_sign
DELETE FROM uses WHERE context = :context AND memory = :memory AND use = :use AND use IN ('quoted', 'followed');

-- name: uncount_quoted
UPDATE usage SET quoted = quoted - 1, changed = :commit WHERE memory = :memory;

-- name: uncount_followed
UPDATE usage SET followed = followed - 1, changed = :commit WHERE memory = :memory;

-- name: count_votes
INSERT INTO usage (memory, scope, helped, misled, changed) VALUES (:memory, :scope, :helped, :misled, :commit)
ON CONFLICT (memory) DO UPDATE SET helped = :helped, misled = :misled, changed = :commit;

-- name: add_vote
INSERT INTO votes (memory, context, by, use, at, changed) VALUES (:memory, :context, :by, :use, :at, :commit);

-- name: add_context
INSERT INTO contexts (id, scope, made_at, trace, changed) VALUES (:id, :scope, :made_at, :trace, :commit);

-- name: context
SELECT c.trace FROM contexts c JOIN scopes p ON p.number = c.scope WHERE c.id = :id AND p.path = :path;

-- name: context_ids
-- The contexts of a scope in the order in which they were made.
SELECT c.id FROM contexts c JOIN scopes p ON p.number = c.scope WHERE p.path = :path ORDER BY c.made_at, c.id;

-- name: key
SELECT k.body, m.id, k.verdict, k.at
FROM keys k JOIN scopes p ON p.number = k.scope JOIN memories m ON m.number = k.memory
WHERE p.path = :path AND k.key = :key;

-- name: add_key
INSERT INTO keys (scope, key, body, memory, verdict, at)
VALUES (:scope, :key, :body, (SELECT number FROM memories WHERE id = :id), :verdict, :at)
ON CONFLICT (scope, key) DO UPDATE
SET body = excluded.body, memory = excluded.memory, verdict = excluded.verdict, at = excluded.at;

-- name: checkpoint
SELECT k.value FROM checkpoints k JOIN scopes p ON p.number = k.scope WHERE p.path = :path AND k.name = :name;

-- name: set_checkpoint
INSERT INTO checkpoints (scope, name, value) VALUES (:scope, :name, :value)
ON CONFLICT (scope, name) DO UPDATE SET value = excluded.value;

-- name: ids_here
-- Which of these memories exist.
SELECT id FROM memories WHERE id IN (SELECT value FROM json_each(:ids));

-- name: contexts_here
SELECT id FROM contexts WHERE id IN (SELECT value FROM json_each(:ids));

-- name: load_key
-- An existing key stays.
INSERT INTO keys (scope, key, body, memory, verdict, at)
VALUES (:scope, :key, :body, (SELECT number FROM memories WHERE id = :id), :verdict, :at)
ON CONFLICT (scope, key) DO NOTHING;

-- name: add_usage
-- The totals of a memory's uses and votes.
INSERT INTO usage (
    memory, scope, served, helped, misled, echoed, quoted, followed, last_served_at, last_echoed_at, changed
)
VALUES (
    :memory, :scope, :served, :helped, :misled, :echoed, :quoted, :followed, :last_served_at, :last_echoed_at, :changed
);

-- name: drop_old_keys
DELETE FROM keys WHERE scope = :scope AND at < :before;

-- name: drop_checkpoints
DELETE FROM checkpoints WHERE scope = :scope;

-- name: drop_memory
DELETE FROM memories WHERE number = :memory;

-- name: drop_content
DELETE FROM contents WHERE number = :content;

-- name: drop_vectors
DELETE FROM vectors WHERE key BETWEEN 256 * :content AND 256 * :content + 255;

-- name: contexts_naming
-- The id is quoted and escaped as in the JSON of contexts.
SELECT id, trace FROM contexts WHERE instr(trace, :id) > 0;

-- name: change_context
UPDATE contexts SET trace = :trace WHERE id = :id;
