-- Statements for switching to another model, in transactions that cover all roots. Numbers of contents are unique over
-- all roots, so pages are counted by them. A model whose vectors are to be removed has a name that begins with a blank,
-- which no real model's name does. So no process can add vectors to it any more, and its number is free again once all
-- of its vectors are gone.

-- name: encoder_number
SELECT number FROM encoders WHERE name = %(model)s AND dimensions = %(dimensions)s;

-- name: begin_encoder
-- The next free number after the present model's, so that a number is reused as late as possible: caches identify
-- vectors by the model's number.
INSERT INTO encoders (number, name, dimensions, present)
SELECT free, %(model)s, %(dimensions)s, false FROM generate_series(1, 255) free
WHERE free NOT IN (SELECT number FROM encoders)
ORDER BY free < coalesce((SELECT number FROM encoders WHERE present), 0), free LIMIT 1
RETURNING number;

-- name: last_content
SELECT coalesce(max(number), 0) FROM contents;

-- name: contents_lacking
-- The contents after a number that have no vector of a model, except those that left the vector index. OFFSET 0 makes
-- the planner look up the vector of each content; it learns too late how many vectors a model has.
SELECT c.number, c.title, c.text, (
    SELECT s.more::json ->> 'speaker' FROM (
        SELECT v.more, v.changed FROM versions v WHERE v.root = c.root AND v.content = c.number
        UNION ALL
        SELECT m.more, m.changed FROM memories m WHERE m.root = c.root AND m.content = c.number
    ) s ORDER BY s.changed LIMIT 1
) FROM contents c
WHERE c.number > %(after)s AND NOT EXISTS (
    SELECT FROM vectors v WHERE v.root = c.root AND v.content = c.number AND v.encoder = %(encoder)s OFFSET 0
) AND NOT {gone}
ORDER BY c.number LIMIT %(limit)s;

-- name: fill_vector
-- Adds nothing if the content was erased meanwhile. Waits for an erasure that is under way.
INSERT INTO vectors (root, content, encoder, scope, value)
SELECT root, number, %(encoder)s, scope, %(value)s FROM contents
WHERE number = %(content)s AND text = %(text)s AND title IS NOT DISTINCT FROM %(title)s
FOR KEY SHARE
ON CONFLICT (root, content, encoder) DO NOTHING
RETURNING 256 * content + encoder;

-- name: reread_scopes
-- Readers cache vectors of the present model, so they are told when existing memories get new ones.
UPDATE scopes SET emptied = emptied + 1
WHERE (root, number) IN (
    SELECT m.root, m.scope FROM contents c JOIN memories m ON (m.root, m.content) = (c.root, c.number)
    WHERE c.number = ANY (ARRAY(SELECT json_array_elements_text(%(contents)s::json)::bigint))
) AND EXISTS (SELECT FROM encoders e WHERE e.number = %(encoder)s AND e.present);

-- name: erasures
SELECT coalesce(sum(emptied), 0)::bigint FROM scopes;

-- name: keep_others_out
-- Waits for transactions that have read the models, and makes later ones wait, so that none adds a vector of the former
-- model.
LOCK TABLE encoders IN ACCESS EXCLUSIVE MODE;

-- name: dismiss_encoders
-- Retires all models but one.
UPDATE encoders SET present = false, name = concat(' ', number, ' ', name)
WHERE number <> %(encoder)s AND name NOT LIKE ' %%';

-- name: prefer_encoder
UPDATE encoders SET present = true WHERE number = %(encoder)s;

-- name: dismissed_encoders
SELECT name FROM encoders WHERE name LIKE ' %%' ORDER BY number;

-- name: remove_vectors
-- Removes vectors in the order of their keys (256 × content + encoder), after a key. OFFSET 0 makes the planner look up
-- the vectors of each content.
DELETE FROM vectors v USING (
    SELECT c.root, c.number, w.encoder
    FROM contents c
    CROSS JOIN LATERAL (
        SELECT w.encoder FROM vectors w
        WHERE w.root = c.root AND w.content = c.number AND w.encoder = ANY (ARRAY(
            SELECT e.number FROM encoders e
            WHERE e.name = ANY (ARRAY(SELECT json_array_elements_text(%(models)s::json)))
        ))
        OFFSET 0
    ) w
    WHERE c.number >= %(after)s::bigint / 256 AND 256 * c.number + w.encoder > %(after)s
    ORDER BY c.number, w.encoder LIMIT %(limit)s
) gone
WHERE (v.root, v.content, v.encoder) = (gone.root, gone.number, gone.encoder)
RETURNING 256 * v.content + v.encoder;

-- name: drop_encoders
DELETE FROM encoders WHERE name = ANY (ARRAY(SELECT json_array_elements_text(%(models)s::json)));
