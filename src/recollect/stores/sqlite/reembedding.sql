-- Statements for switching to another model. A model whose vectors are to be removed has a name that begins with a
-- blank, which no real model's name does. So no process can add vectors to it any more, and its number is free again
-- once all of its vectors are gone.

-- name: encoder_number
SELECT number FROM encoders WHERE name = :model AND dimensions = :dimensions;

-- name: begin_encoder
-- The next free number after the present model's, so that a number is reused as late as possible: caches identify
-- vectors by the model's number.
WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 255)
INSERT INTO encoders (number, name, dimensions, present)
SELECT number, :model, :dimensions, 0 FROM numbers
WHERE number NOT IN (SELECT number FROM encoders)
ORDER BY number < coalesce((SELECT number FROM encoders WHERE present = 1), 0), number LIMIT 1
RETURNING number;

-- name: last_content
SELECT coalesce(max(number), 0) FROM contents;

-- name: contents_lacking
-- The contents after a number that have no vector of a model, except those that left the vector index.
SELECT c.number, c.title, c.text, (
    SELECT more ->> '$.speaker' FROM (
        SELECT more, changed FROM versions WHERE content = c.number
        UNION ALL
        SELECT more, changed FROM memories WHERE content = c.number
    ) ORDER BY changed LIMIT 1
) FROM contents c
WHERE c.number > :after AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.key = 256 * c.number + :encoder)
  AND NOT {gone}
ORDER BY c.number LIMIT :limit;

-- name: fill_vector
-- Adds nothing if the content was erased meanwhile; its number may even belong to another content by now.
INSERT INTO vectors (key, value)
SELECT 256 * number + :encoder, :value FROM contents WHERE number = :content AND text = :text AND title IS :title
ON CONFLICT (key) DO NOTHING
RETURNING key;

-- name: reread_scopes
-- Readers cache vectors of the present model, so they are told when existing memories get new ones.
UPDATE scopes SET emptied = emptied + 1
WHERE number IN (SELECT scope FROM memories WHERE content IN (SELECT value FROM json_each(:contents)))
  AND EXISTS (SELECT 1 FROM encoders WHERE number = :encoder AND present = 1);

-- name: erasures
SELECT coalesce(sum(emptied), 0) FROM scopes;

-- name: keep_others_out
-- Nothing to lock: SQLite has one writer at a time.
SELECT 1;

-- name: dismiss_encoders
-- Retires all models but one.
UPDATE encoders SET present = 0, name = ' ' || number || ' ' || name WHERE number <> :encoder AND name NOT LIKE ' %';

-- name: prefer_encoder
UPDATE encoders SET present = 1 WHERE number = :encoder;

-- name: dismissed_encoders
SELECT name FROM encoders WHERE name LIKE ' %' ORDER BY number;

-- name: remove_vectors
DELETE FROM vectors WHERE key IN (
    SELECT key FROM vectors
    WHERE key > :after
      AND key % 256 IN (SELECT number FROM encoders WHERE name IN (SELECT value FROM json_each(:models)))
    ORDER BY key LIMIT :limit
)
RETURNING key;

-- name: drop_encoders
DELETE FROM encoders WHERE name IN (SELECT value FROM json_each(:models));

-- name: waiting_encoders
-- Models other than the present one: those begun, and retired ones that still have vectors.
SELECT name, dimensions, name LIKE ' %' FROM encoders WHERE present = 0 ORDER BY number;
