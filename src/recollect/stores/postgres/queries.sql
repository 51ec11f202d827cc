-- The statements of the PostgreSQL store for reading and writing. Dates are microseconds since 1970, UTC. Each gets the
-- root as a parameter, or NULL for all roots (see the macro `within`). A statement names the root for every table that
-- it starts from, also in subqueries, and joins by it, so that it reads one partition of each table.

-- name: last_commit
(SELECT number, recorded_at FROM commits WHERE root = %(root)s ORDER BY number DESC LIMIT 1)
UNION ALL SELECT 0, 0
ORDER BY number DESC LIMIT 1;

-- name: commit_known_at
SELECT coalesce((
    SELECT number FROM commits WHERE root = %(root)s AND recorded_at <= %(at)s ORDER BY number DESC LIMIT 1
), 0);

-- name: add_commit
-- Adds no row while another store is being moved into the database.
INSERT INTO commits (root, number, recorded_at, token)
SELECT %(root)s, %(commit)s, %(recorded_at)s, %(token)s WHERE NOT EXISTS (SELECT FROM moving);

-- name: commit_with_token
-- Whether a commit was applied although its answer was lost.
SELECT number FROM commits WHERE root = %(root)s AND token = %(wanted)s ORDER BY number DESC LIMIT 1;

-- name: present_encoder
SELECT number, name, dimensions FROM encoders WHERE present;

-- name: lock_encoders
-- Locked before a model is added: a second writer waits, and then sees the model that the first one added. Readers do
-- not wait.
LOCK TABLE encoders IN SHARE ROW EXCLUSIVE MODE;

-- name: add_encoder
INSERT INTO encoders (number, name, dimensions, present)
SELECT coalesce(max(number), 0) + 1, %(name)s, %(dimensions)s, true FROM encoders
ON CONFLICT (name, dimensions) DO UPDATE SET present = true;  -- re-embedding began before the first memory

-- name: add_scope
-- An existing row is not written again, since every write to a scope asks for its number. The number of a new scope is
-- added to those that row-level security admits.
WITH here AS (
    SELECT number FROM scopes WHERE root = %(root)s AND path = %(path)s
), made AS (
    INSERT INTO scopes (root, path) SELECT %(root)s, %(path)s WHERE NOT EXISTS (SELECT FROM here)
    ON CONFLICT (root, path) DO UPDATE SET path = excluded.path RETURNING number
), told AS (
    SELECT made.number, set_config(
        'recollect.numbers',
        array_append(coalesce(nullif(current_setting('recollect.numbers', true), ''), '{}')::bigint[], made.number)::text,
        true
    ) FROM made
)
SELECT number FROM here UNION ALL SELECT number FROM told;

-- name: scope_stamps
SELECT path, number, changed, used, emptied FROM scopes
WHERE root = %(root)s AND path = ANY (ARRAY(SELECT json_array_elements_text(%(paths)s::json)));

-- name: scope_changed
UPDATE scopes SET changed = %(commit)s WHERE root = %(root)s AND number = %(scope)s;

-- name: scope_used
UPDATE scopes SET used = %(commit)s WHERE root = %(root)s AND number = %(scope)s;

-- name: scope_emptied
-- Also records that the files of the scope's partition still contain the erased rows.
WITH erased AS (
    INSERT INTO unswept (part, erased_by)
    SELECT {part:s}, pg_current_xact_id() FROM scopes s WHERE s.root = %(root)s AND s.number = %(scope)s
    ON CONFLICT DO NOTHING
)
UPDATE scopes SET changed = %(commit)s, emptied = emptied + 1 WHERE root = %(root)s AND number = %(scope)s;

-- name: entries
-- The memories of a scope that changed after a commit (0: all), with everything that the column cache keeps. Of the
-- text it reads only the end, which shows whether it is a question.
SELECT m.number, m.changed, m.id, m.kind, {levels:m}, {standing:m}, m.shared, m.pinned,
       m.importance, m.confidence, m.salience, m.revisions, m.created_at, m.updated_at, m.valid_from, m.valid_until,
       coalesce(u.served, 0), coalesce(u.helped, 0), coalesce(u.misled, 0), u.last_served_at,
       n.more ->> 'session', n.more ->> 'speaker', {end}, {worded}, {vector:c}
FROM memories m
JOIN contents c ON (c.root, c.number) = (m.root, m.content)
LEFT JOIN usage u ON (u.root, u.memory) = (m.root, m.number)
CROSS JOIN LATERAL {noted:m}
WHERE m.root = %(root)s AND m.scope = %(scope)s AND m.changed > %(after)s AND (m.shared OR %(unshared)s);

-- name: indexed_scope
-- The number of a scope, if it has a valid vector index whose name begins with this prefix.
SELECT s.number FROM scopes s
WHERE s.root = %(root)s AND s.path = %(path)s AND EXISTS (
    SELECT FROM pg_inherits h JOIN pg_index i ON i.indrelid = h.inhrelid JOIN pg_class k ON k.oid = i.indexrelid
    WHERE h.inhparent = 'vectors'::regclass AND i.indisvalid AND k.relname = %(named)s || s.number
);

-- name: entries_count
SELECT count(*) FROM memories WHERE root = %(root)s AND scope = %(scope)s AND changed > %(after)s;

-- name: uses_since
SELECT memory, served, helped, misled, last_served_at FROM usage
WHERE root = %(root)s AND scope = %(scope)s AND changed > %(after)s;

-- name: entries_known_at
-- The memories of a scope as they were after a commit, if they changed after an earlier one (0: all). Their usage is
-- read separately.
SELECT m.number, s.changed, m.id, s.kind, {levels:s}, {standing:s}, s.shared, s.pinned,
       s.importance, s.confidence, s.salience, s.revisions, s.created_at, s.updated_at, s.valid_from, s.valid_until,
       n.more ->> 'session', n.more ->> 'speaker', {end}, {worded}, {vector:c}
FROM (
    SELECT m.root, m.number AS memory, m.content, {state:m} FROM memories m
    WHERE m.root = %(root)s AND m.scope = %(scope)s AND m.changed > %(after)s AND m.changed <= %(commit)s
    UNION ALL
    SELECT o.root, o.memory, o.content, {state:o} FROM versions o
    WHERE o.root = %(root)s AND o.scope = %(scope)s
      AND o.changed > %(after)s AND o.changed <= %(commit)s AND o.until > %(commit)s
) s
JOIN memories m ON m.root = %(root)s AND m.number = s.memory
JOIN contents c ON c.root = %(root)s AND c.number = s.content
CROSS JOIN LATERAL {noted:s}
WHERE s.shared OR %(unshared)s;

-- name: entries_as_of
-- Former versions at a moment, as known after a commit: the last version whose text was observed by then. The second
-- column is the minus version number instead of the commit, as one commit may have several versions of a memory. The
-- status is set only if the memory was put away by then.
SELECT v.memory, -v.number,
       CASE WHEN v.status IN ('active', 'superseded') OR v.recorded_at > %(at)s THEN NULL ELSE v.status END, v.kind,
       v.level, v.importance, v.confidence, v.salience, v.revisions,
       v.created_at, v.updated_at, v.valid_from, v.valid_until, n.more ->> 'session', n.more ->> 'speaker',
       {end}, c.entities, c.terms, {vector:c}
FROM json_array_elements_text(%(memories)s::json) asked (number)
CROSS JOIN LATERAL (
    SELECT o.root, o.number, o.memory, o.content, {state:o} FROM versions o
    WHERE o.root = %(root)s AND o.memory = asked.number::bigint AND o.changed <= %(commit)s
      AND coalesce(o.updated_at, o.created_at) <= %(at)s AND (o.shared OR %(unshared)s)
    ORDER BY o.number DESC LIMIT 1
) v
JOIN contents c ON c.root = %(root)s AND c.number = v.content
CROSS JOIN LATERAL {noted:v};

-- name: served_known_at
-- How often memories of a scope had been served up to a commit, for those served after an earlier commit. Each memory
-- is looked up by itself, since the planner does not know how few uses it has.
SELECT g.memory, u.times, u.at
FROM usage g
CROSS JOIN LATERAL (
    SELECT count(*) AS times, max(o.at) AS at, max(o.changed) AS changed FROM uses o
    WHERE o.root = %(root)s AND o.memory = g.memory AND o.use = 'served' AND o.changed <= %(commit)s
) u
WHERE g.root = %(root)s AND g.scope = %(scope)s AND g.changed > %(after)s AND u.changed > %(after)s;

-- name: votes_known_at
-- The votes on memories of a scope up to a commit, for those that got a vote after an earlier commit.
SELECT v.memory, v.context, v.by, v.use, v.at
FROM usage g
CROSS JOIN LATERAL (
    SELECT max(o.changed) AS changed FROM votes o
    WHERE o.root = %(root)s AND o.memory = g.memory AND o.changed <= %(commit)s
) last
CROSS JOIN LATERAL (
    SELECT o.number, o.memory, o.context, o.by, o.use, o.at FROM votes o
    WHERE o.root = %(root)s AND o.memory = g.memory AND o.changed <= %(commit)s OFFSET 0
) v
WHERE g.root = %(root)s AND g.scope = %(scope)s AND g.changed > %(after)s AND last.changed > %(after)s
ORDER BY v.number;

-- name: served_until
-- How often these memories had been served up to a commit.
SELECT memory, count(*), max(at) FROM uses
WHERE root = %(root)s AND memory = ANY ({memories}) AND use = 'served' AND changed <= %(commit)s
GROUP BY memory;

-- name: votes_until
-- The votes on these memories up to a commit.
SELECT memory, context, by, use, at FROM votes
WHERE root = %(root)s AND memory = ANY ({memories}) AND changed <= %(commit)s
ORDER BY number;

-- name: votes_on
SELECT memory, context, by, use, at FROM votes WHERE root = %(root)s AND memory = %(memory)s ORDER BY number;

-- name: votes_in
-- All votes in those of these contexts that belong to the scope, on memories that it may see.
SELECT m.id, v.context, v.by, v.use, v.at
FROM contexts c
JOIN votes v ON (v.root, v.context) = (c.root, c.id)
JOIN memories m ON (m.root, m.number) = (v.root, v.memory) JOIN scopes p ON (p.root, p.number) = (m.root, m.scope)
WHERE c.root = %(root)s AND c.id = ANY (ARRAY(SELECT json_array_elements_text(%(contexts)s::json))) AND c.scope = {scope}
  AND (p.path = %(path)s OR (m.shared AND p.path IN (SELECT json_array_elements_text(%(ancestors)s::json))))
ORDER BY v.number;

-- name: signs_in
-- The signs of memories that the scope may see, in those of these contexts that belong to the scope.
SELECT u.context, m.id, u.use
FROM contexts c
JOIN uses u ON (u.root, u.context) = (c.root, c.id) AND u.use IN ('quoted', 'followed')
JOIN memories m ON (m.root, m.number) = (u.root, u.memory) JOIN scopes p ON (p.root, p.number) = (m.root, m.scope)
WHERE c.root = %(root)s AND c.id = ANY (ARRAY(SELECT json_array_elements_text(%(contexts)s::json))) AND c.scope = {scope}
  AND (p.path = %(path)s OR (m.shared AND p.path IN (SELECT json_array_elements_text(%(ancestors)s::json))));

-- name: sign
SELECT 1 FROM uses
WHERE root = %(root)s AND context = %(context)s AND memory = %(memory)s AND use = %(use)s
  AND use IN ('quoted', 'followed');

-- name: memories_now
-- Those of these memories that have not changed since the commits given with them.
SELECT m.number, m.id, p.path, c.title, c.text, {state:m}
FROM memories m
JOIN scopes p ON (p.root, p.number) = (m.root, m.scope) JOIN contents c ON (c.root, c.number) = (m.root, m.content)
WHERE m.root = %(root)s AND m.number = ANY (ARRAY(
    SELECT (asked.place ->> 0)::bigint FROM json_array_elements(%(places)s::json) asked (place)
)) AND (m.number, m.changed) IN (
    SELECT (asked.place ->> 0)::bigint, (asked.place ->> 1)::bigint FROM json_array_elements(%(places)s::json) asked (place)
);

-- name: memories_then
-- Former versions of these memories, as written by the commits given with them. If one commit wrote several versions of
-- a memory, the last one comes last.
SELECT m.number, m.id, p.path, c.title, c.text, {state:v}
FROM (
    SELECT (asked.place ->> 0)::bigint AS memory, (asked.place ->> 1)::bigint AS changed
    FROM json_array_elements(%(places)s::json) asked (place)
) asked
JOIN versions v ON v.root = %(root)s AND (v.memory, v.changed) = (asked.memory, asked.changed)
JOIN memories m ON m.root = %(root)s AND m.number = v.memory
JOIN scopes p ON (p.root, p.number) = (m.root, m.scope) JOIN contents c ON (c.root, c.number) = (v.root, v.content)
ORDER BY v.number;

-- name: states_of
-- All states of these memories, the present one last: version, commit, content, and whether it has left the vector
-- index.
SELECT v.memory, v.number, v.changed, v.content, {unembedded:v} FROM versions v
WHERE v.root = %(root)s AND v.memory = ANY ({memories})
UNION ALL
SELECT m.number, 9223372036854775807, m.changed, m.content, {unembedded:m} FROM memories m
WHERE m.root = %(root)s AND m.number = ANY ({memories})
ORDER BY 1, 2;

-- name: memory_in_version
-- A memory in a former version, if that version belongs to the memory and the commit knew it.
SELECT m.id, p.path, c.title, c.text, {state:v}
FROM versions v
JOIN memories m ON (m.root, m.number) = (v.root, v.memory)
JOIN scopes p ON (p.root, p.number) = (m.root, m.scope) JOIN contents c ON (c.root, c.number) = (v.root, v.content)
WHERE v.root = %(root)s AND v.number = %(version)s AND v.memory = %(memory)s AND v.changed <= %(commit)s;

-- name: memories_by_id
-- Those of these memories that a scope may see: its own, or shared ones of its ancestors.
SELECT m.id, p.path, c.title, c.text, {state:m}
FROM memories m
JOIN scopes p ON (p.root, p.number) = (m.root, m.scope) JOIN contents c ON (c.root, c.number) = (m.root, m.content)
WHERE m.root = %(root)s AND m.id = ANY (ARRAY(SELECT json_array_elements_text(%(ids)s::json)))
  AND (p.path = %(path)s OR (m.shared AND p.path IN (SELECT json_array_elements_text(%(ancestors)s::json))));

-- name: memory_known_at
SELECT m.id, p.path, c.title, c.text, {state:s}
FROM memories m
JOIN scopes p ON (p.root, p.number) = (m.root, m.scope)
CROSS JOIN LATERAL (
    SELECT m.content, {state:m} WHERE m.changed <= %(commit)s
    UNION ALL
    SELECT o.content, {state:o} FROM versions o
    WHERE o.root = %(root)s AND o.memory = m.number AND o.changed <= %(commit)s AND o.until > %(commit)s
) s
JOIN contents c ON (c.root, c.number) = (m.root, s.content)
WHERE m.root = %(root)s AND m.id = %(id)s
  AND (p.path = %(path)s OR (s.shared AND p.path IN (SELECT json_array_elements_text(%(ancestors)s::json))));

-- name: own_memory
SELECT m.id, p.path, c.title, c.text, {state:m}
FROM memories m
JOIN scopes p ON (p.root, p.number) = (m.root, m.scope) JOIN contents c ON (c.root, c.number) = (m.root, m.content)
WHERE m.root = %(root)s AND m.id = %(id)s AND p.path = %(path)s;

-- name: heard_of
-- Whether the id exists; whether the scope or an ancestor has the same text; whether the scope has that subject. Most
-- memories are new, and this shows it at far less cost than reading the matching memories. Each lookup takes the first
-- key that is not before the one it looks for. Only one index returns keys in this order; for a plain comparison the
-- planner might choose any index of the scope and read all of it.
WITH here AS MATERIALIZED (
    SELECT number, path FROM scopes
    WHERE root = %(root)s AND path = ANY (ARRAY(
        SELECT %(path)s::text UNION ALL SELECT json_array_elements_text(%(ancestors)s::json)
    ))
)
SELECT
    EXISTS (SELECT FROM memories WHERE root = %(root)s AND id = %(id)s),
    EXISTS (
        SELECT FROM here CROSS JOIN LATERAL (
            SELECT hash FROM memories WHERE root = %(root)s AND scope = here.number AND hash >= %(hash)s
            ORDER BY hash LIMIT 1
        ) first WHERE first.hash = %(hash)s
    ) OR EXISTS (
        SELECT FROM here CROSS JOIN LATERAL (
            SELECT likeness FROM memories
            WHERE root = %(root)s AND scope = here.number AND likeness >= %(likeness)s AND likeness <> ''
            ORDER BY likeness LIMIT 1
        ) first WHERE first.likeness = %(likeness)s
    ),
    EXISTS (
        SELECT FROM here CROSS JOIN LATERAL (
            SELECT subject FROM memories WHERE root = %(root)s AND scope = here.number AND subject >= %(subject)s
            ORDER BY subject LIMIT 1
        ) first WHERE here.path = %(path)s AND first.subject = %(subject)s
    );

-- name: hearsay
-- The ids and keys of all memories in a scope and its ancestors, for the duplicate index.
SELECT p.path, m.id, m.hash, m.likeness, m.subject
FROM scopes p JOIN memories m ON (m.root, m.scope) = (p.root, p.number)
WHERE p.root = %(root)s AND p.path = ANY (ARRAY(
    SELECT %(path)s::text UNION ALL SELECT json_array_elements_text(%(ancestors)s::json)
))
LIMIT %(most)s;

-- name: sayings
-- The memories of a scope with the same text and no other topic: active ones first, then by topic and number.
SELECT m.id, p.path, c.title, c.text, {state:m}
FROM memories m
JOIN scopes p ON (p.root, p.number) = (m.root, m.scope) JOIN contents c ON (c.root, c.number) = (m.root, m.content)
WHERE m.root = %(root)s AND m.number = ANY (ARRAY(
    SELECT number FROM memories WHERE root = %(root)s AND scope = {scope} AND hash = %(hash)s
    UNION
    SELECT number FROM memories
    WHERE root = %(root)s AND scope = {scope} AND likeness = %(likeness)s AND likeness <> ''
)) AND m.level IS NULL AND (%(topic_key)s::text IS NULL OR m.topic_key IS NULL OR m.topic_key = %(topic_key)s)
ORDER BY m.status <> 'active', m.topic_key IS DISTINCT FROM %(topic_key)s, m.number LIMIT %(most)s;

-- name: said_before
-- The memories of a scope with this text in a former version, and another text now.
SELECT m.id, p.path, c.title, c.text, {state:m}
FROM memories m
JOIN scopes p ON (p.root, p.number) = (m.root, m.scope) JOIN contents c ON (c.root, c.number) = (m.root, m.content)
WHERE m.root = %(root)s AND m.number = ANY (ARRAY(
    SELECT memory FROM versions WHERE root = %(root)s AND hash = %(hash)s AND scope = {scope}
)) AND p.path = %(path)s AND m.hash <> %(hash)s AND m.level IS NULL
ORDER BY m.number LIMIT %(most)s;

-- name: about
-- The memories of a scope about a subject that are valid or were so after a moment: active ones first, then by start.
SELECT m.id, p.path, c.title, c.text, {state:m}
FROM memories m
JOIN scopes p ON (p.root, p.number) = (m.root, m.scope) JOIN contents c ON (c.root, c.number) = (m.root, m.content)
WHERE m.root = %(root)s AND m.scope = {scope} AND m.subject = %(subject)s
  AND m.level IS NULL AND m.status IN ('active', 'superseded')
  AND (m.valid_until IS NULL OR m.valid_until > %(after)s)
ORDER BY m.status, coalesce(m.valid_from, m.observed_at, m.created_at), m.id LIMIT %(most)s;

-- name: away_since
-- When a memory got its present status: after the last version with another status.
SELECT coalesce((
    SELECT s.recorded_at FROM versions s WHERE s.root = %(root)s AND s.memory = m.number AND s.number > coalesce((
        SELECT max(o.number) FROM versions o WHERE o.root = %(root)s AND o.memory = m.number AND o.status <> m.status
    ), 0) ORDER BY s.number LIMIT 1
), m.recorded_at)
FROM memories m WHERE m.root = %(root)s AND m.id = %(id)s;

-- name: written_by
-- The memories of a scope of which a commit wrote a version, present or former.
SELECT id FROM memories WHERE root = %(root)s AND scope = {scope} AND changed = %(commit)s
UNION
SELECT m.id FROM memories m JOIN versions v ON (v.root, v.memory) = (m.root, m.number)
WHERE m.root = %(root)s AND m.scope = {scope} AND v.changed = %(commit)s
ORDER BY id;

-- name: memory_before
-- A memory as it was before a commit, with its vector. The present version counts as later than all former ones.
SELECT m.id, p.path, c.title, c.text, {state:s}, {vector:c}
FROM memories m
JOIN scopes p ON (p.root, p.number) = (m.root, m.scope)
CROSS JOIN LATERAL (
    SELECT NULL::bigint AS place, m.content, {state:m} WHERE m.changed < %(commit)s
    UNION ALL
    SELECT o.number, o.content, {state:o} FROM versions o
    WHERE o.root = %(root)s AND o.memory = m.number AND o.changed < %(commit)s
) s
JOIN contents c ON (c.root, c.number) = (m.root, s.content)
WHERE m.root = %(root)s AND m.id = %(id)s AND p.path = %(path)s
ORDER BY s.place DESC NULLS FIRST LIMIT 1;

-- name: direction
SELECT v.value FROM memories m JOIN vectors v ON (v.root, v.content, v.encoder) = (m.root, m.content, %(encoder)s)
WHERE m.root = %(root)s AND m.id = %(id)s;

-- name: echoed_at
SELECT 1 FROM uses u JOIN memories m ON (m.root, m.number) = (u.root, u.memory)
WHERE m.root = %(root)s AND m.id = %(id)s AND u.use = 'echoed' AND u.at = %(at)s LIMIT 1;

-- name: twin_id
-- The scope is a subquery, so that the planner assumes a scope of average size. For a scope without statistics it would
-- take reading all of the scope to be as fast as the index.
SELECT id FROM memories
WHERE root = %(root)s AND scope = (SELECT %(scope)s::bigint) AND hash = %(hash)s AND status = 'active'
  AND topic_key IS NOT DISTINCT FROM %(topic_key)s;

-- name: topic_id
SELECT id FROM memories
WHERE root = %(root)s AND scope = %(scope)s AND topic_key = %(topic_key)s AND status = 'active';

-- name: topic
SELECT m.id, p.path, c.title, c.text, {state:m}
FROM memories m
JOIN scopes p ON (p.root, p.number) = (m.root, m.scope) JOIN contents c ON (c.root, c.number) = (m.root, m.content)
WHERE m.root = %(root)s AND m.scope = {scope} AND m.topic_key = %(topic_key)s AND m.status = 'active'
ORDER BY m.number LIMIT 1;

-- name: history
SELECT m.id, p.path, c.title, c.text, {state:v}
FROM versions v
JOIN memories m ON (m.root, m.number) = (v.root, v.memory)
JOIN scopes p ON (p.root, p.number) = (m.root, m.scope) JOIN contents c ON (c.root, c.number) = (v.root, v.content)
WHERE m.root = %(root)s AND m.id = %(id)s ORDER BY v.number;

-- name: numbers_below
-- The memories of a scope, or of all below it, after an id, up to a limit. The limit also applies to each scope and
-- status.
SELECT m.number
FROM (
    SELECT number FROM scopes WHERE root = %(root)s AND path = %(path)s
    UNION ALL
    SELECT number FROM scopes
    WHERE root = %(root)s AND %(below)s AND path >= %(path)s || '/' AND path < %(path)s || '0'  -- "0" comes after "/"
) p
CROSS JOIN json_array_elements_text(%(statuses)s::json) asked (status)
CROSS JOIN LATERAL (
    SELECT number, id FROM memories
    WHERE root = %(root)s AND scope = p.number AND status = asked.status AND id > %(passed)s
    ORDER BY id LIMIT %(limit)s::bigint
) m
ORDER BY m.id LIMIT %(limit)s::bigint;

-- name: memories_numbered
-- These memories in this order, if they still exist with one of these statuses.
SELECT m.id, p.path, c.title, c.text, {state:m}
FROM (SELECT ARRAY(SELECT json_array_elements_text(%(numbers)s::json)::bigint) AS numbers) asked
JOIN memories m ON m.root = %(root)s AND m.number = ANY (asked.numbers)
JOIN scopes p ON (p.root, p.number) = (m.root, m.scope) JOIN contents c ON (c.root, c.number) = (m.root, m.content)
WHERE m.status IN (SELECT json_array_elements_text(%(statuses)s::json))
ORDER BY array_position(asked.numbers, m.number);

-- name: timeline
-- The records of a scope with these levels and statuses in a time range, ordered by time.
SELECT m.id, p.path, c.title, c.text, {state:m}
FROM memories m
JOIN scopes p ON (p.root, p.number) = (m.root, m.scope) JOIN contents c ON (c.root, c.number) = (m.root, m.content)
WHERE m.root = %(root)s AND m.scope = {scope}
  AND m.level = ANY (ARRAY(SELECT json_array_elements_text(%(levels)s::json))) AND m.level IS NOT NULL
  AND m.created_at >= %(since)s AND m.created_at < %(before)s
  AND m.status IN (SELECT json_array_elements_text(%(statuses)s::json))
ORDER BY m.created_at, m.id;

-- name: touched
-- The times of a scope's records of a level that changed after a commit, with the last commit that changed each.
SELECT created_at, max(changed) FROM memories
WHERE root = %(root)s AND scope = {scope} AND changed > %(after)s AND level = %(level)s
GROUP BY created_at ORDER BY created_at;

-- name: usage_of
SELECT m.id, u.served, u.helped, u.misled, u.echoed, u.quoted, u.followed, u.last_served_at, u.last_echoed_at
FROM memories m
JOIN usage u ON (u.root, u.memory) = (m.root, m.number) JOIN scopes p ON (p.root, p.number) = (m.root, m.scope)
WHERE m.root = %(root)s AND m.id = ANY (ARRAY(SELECT json_array_elements_text(%(ids)s::json)))
  AND (p.path = %(path)s OR (m.shared AND p.path IN (SELECT json_array_elements_text(%(ancestors)s::json))));

-- name: place
-- The numbers of a memory and its scope, if the scope may see it.
SELECT m.number, m.scope
FROM memories m JOIN scopes p ON (p.root, p.number) = (m.root, m.scope)
WHERE m.root = %(root)s AND m.id = %(id)s
  AND (p.path = %(path)s OR (m.shared AND p.path IN (SELECT json_array_elements_text(%(ancestors)s::json))));

-- name: present_state
SELECT m.number, m.scope, m.content, m.hash, m.likeness, c.title, c.text
FROM memories m JOIN contents c ON (c.root, c.number) = (m.root, m.content)
WHERE m.root = %(root)s AND m.id = %(id)s;

-- name: add_content
-- The number is a parameter, so that the writer does not wait for the answer.
INSERT INTO contents (root, number, scope, title, text, hash, terms, analyser, entities, naming)
VALUES (
    %(root)s, %(number)s, %(scope)s, %(title)s, %(text)s, %(hash)s, %(terms)s, %(analyser)s, %(entities)s, %(naming)s
);

-- name: add_vector
INSERT INTO vectors (root, content, encoder, scope, value)
VALUES (%(root)s, %(content)s, %(encoder)s, %(scope)s, %(value)s);

-- name: add_memory
-- Adds no row if an active duplicate or the id exists, even if row-level security hides it. The number is a parameter.
INSERT INTO memories (root, number, id, scope, content, {state:})
VALUES (%(root)s, %(number)s, %(id)s, %(scope)s, %(content)s, {values})
ON CONFLICT DO NOTHING;

-- name: next_numbers
-- Reserves numbers for contents and memories that are about to be added.
SELECT nextval('contents_numbers'), nextval('memories_numbers') FROM generate_series(1, %(count)s::integer);

-- name: keep_version
INSERT INTO versions (root, memory, scope, until, content, {state:})
SELECT root, number, scope, %(until)s, content, {state:} FROM memories WHERE root = %(root)s AND number = %(memory)s;

-- name: change_memory
UPDATE memories SET (content, {state:}) = (%(content)s, {values}) WHERE root = %(root)s AND number = %(memory)s;

-- name: add_use
INSERT INTO uses (root, memory, scope, use, at, context, changed)
SELECT root, number, scope, %(use)s, %(at)s, %(context)s, %(commit)s FROM memories
WHERE root = %(root)s AND number = %(memory)s;

-- name: count_served
INSERT INTO usage (root, memory, scope, served, last_served_at, changed)
VALUES (%(root)s, %(memory)s, %(scope)s, 1, %(at)s, %(commit)s)
ON CONFLICT (root, memory) DO UPDATE
SET served = usage.served + 1, last_served_at = greatest(usage.last_served_at, excluded.last_served_at),
    changed = excluded.changed;

-- name: count_echoed
INSERT INTO usage (root, memory, scope, echoed, last_echoed_at, changed)
VALUES (%(root)s, %(memory)s, %(scope)s, 1, %(at)s, %(commit)s)
ON CONFLICT (root, memory) DO UPDATE
SET echoed = usage.echoed + 1, last_echoed_at = greatest(usage.last_echoed_at, excluded.last_echoed_at),
    changed = excluded.changed;

-- name: count_quoted
INSERT INTO usage (root, memory, scope, quoted, changed) VALUES (%(root)s, %(memory)s, %(scope)s, 1, %(commit)s)
ON CONFLICT (root, memory) DO UPDATE SET quoted = usage.quoted + 1, changed = excluded.changed;

-- name: count_followed
INSERT INTO usage (root, memory, scope, followed, changed) VALUES (%(root)s, %(memory)s, %(scope)s, 1, %(commit)s)
ON CONFLICT (root, memory) DO UPDATE SET followed = usage.followed + 1, changed = excluded.changed;

-- name: drop_sign
DELETE FROM uses
WHERE root = %(root)s AND context = %(context)s AND memory = %(memory)s AND use = %(use)s
  AND use IN ('quoted', 'followed');

-- name: uncount_quoted
UPDATE usage SET quoted = quoted - 1, changed = %(commit)s WHERE root = %(root)s AND memory = %(memory)s;

-- name: uncount_followed
UPDATE usage SET followed = followed - 1, changed = %(commit)s WHERE root = %(root)s AND memory = %(memory)s;

-- name: count_votes
INSERT INTO usage (root, memory, scope, helped, misled, changed)
VALUES (%(root)s, %(memory)s, %(scope)s, %(helped)s, %(misled)s, %(commit)s)
ON CONFLICT (root, memory) DO UPDATE
SET helped = excluded.helped, misled = excluded.misled, changed = excluded.changed;

-- name: add_vote
INSERT INTO votes (root, memory, scope, context, by, use, at, changed)
SELECT root, number, scope, %(context)s, %(by)s, %(use)s, %(at)s, %(commit)s FROM memories
WHERE root = %(root)s AND number = %(memory)s;

-- name: add_context
INSERT INTO contexts (root, id, scope, made_at, trace, changed)
VALUES (%(root)s, %(id)s, %(scope)s, %(made_at)s, %(trace)s, %(commit)s);

-- name: context
SELECT c.trace FROM contexts c JOIN scopes p ON (p.root, p.number) = (c.root, c.scope)
WHERE c.root = %(root)s AND c.id = %(id)s AND p.path = %(path)s;

-- name: context_ids
-- The contexts of a scope in the order in which they were made.
SELECT c.id FROM contexts c WHERE c.root = %(root)s AND c.scope = {scope} ORDER BY c.made_at, c.id;

-- name: key
SELECT k.body, m.id, k.verdict, k.at
FROM keys k
JOIN scopes p ON (p.root, p.number) = (k.root, k.scope) JOIN memories m ON (m.root, m.number) = (k.root, k.memory)
WHERE k.root = %(root)s AND p.path = %(path)s AND k.key = %(key)s;

-- name: add_key
INSERT INTO keys (root, scope, key, body, memory, verdict, at)
SELECT %(root)s, %(scope)s, %(key)s, %(body)s, number, %(verdict)s, %(at)s FROM memories
WHERE root = %(root)s AND id = %(id)s
ON CONFLICT (root, scope, key) DO UPDATE
SET body = excluded.body, memory = excluded.memory, verdict = excluded.verdict, at = excluded.at;

-- name: checkpoint
SELECT k.value FROM checkpoints k JOIN scopes p ON (p.root, p.number) = (k.root, k.scope)
WHERE k.root = %(root)s AND p.path = %(path)s AND k.name = %(name)s;

-- name: set_checkpoint
INSERT INTO checkpoints (root, scope, name, value) VALUES (%(root)s, %(scope)s, %(name)s, %(value)s)
ON CONFLICT (root, scope, name) DO UPDATE SET value = excluded.value;

-- name: ids_here
-- Which of these memories exist.
SELECT id FROM memories WHERE root = %(root)s AND id = ANY (ARRAY(SELECT json_array_elements_text(%(ids)s::json)));

-- name: contexts_here
SELECT id FROM contexts WHERE root = %(root)s AND id = ANY (ARRAY(SELECT json_array_elements_text(%(ids)s::json)));

-- name: load_key
-- An existing key stays.
INSERT INTO keys (root, scope, key, body, memory, verdict, at)
SELECT %(root)s, %(scope)s, %(key)s, %(body)s, number, %(verdict)s, %(at)s FROM memories
WHERE root = %(root)s AND id = %(id)s
ON CONFLICT (root, scope, key) DO NOTHING;

-- name: add_usage
-- The totals of a memory's uses and votes; adds no row if the memory was not added.
INSERT INTO usage (
    root, memory, scope, served, helped, misled, echoed, quoted, followed, last_served_at, last_echoed_at, changed
)
SELECT root, number, %(scope)s, %(served)s, %(helped)s, %(misled)s, %(echoed)s, %(quoted)s, %(followed)s,
       %(last_served_at)s, %(last_echoed_at)s, %(changed)s
FROM memories WHERE root = %(root)s AND number = %(memory)s;

-- name: drop_old_keys
DELETE FROM keys WHERE root = %(root)s AND scope = %(scope)s AND at < %(before)s;

-- name: drop_checkpoints
DELETE FROM checkpoints WHERE root = %(root)s AND scope = %(scope)s;

-- name: drop_memory
DELETE FROM memories WHERE root = %(root)s AND number = %(memory)s;

-- name: drop_content
DELETE FROM contents WHERE root = %(root)s AND number = %(content)s;

-- name: drop_vectors
DELETE FROM vectors WHERE root = %(root)s AND content = %(content)s;

-- name: contexts_naming
-- The id is quoted and escaped as in the JSON of contexts.
SELECT id, trace FROM contexts WHERE root = %(root)s AND strpos(trace, %(id)s) > 0;

-- name: change_context
UPDATE contexts SET trace = %(trace)s WHERE root = %(root)s AND id = %(id)s;
