-- Statements for moving another store into this database.

-- name: lock_moving
-- Only one process at a time moves a store. This waits for writers too, since each of them reads the table.
LOCK TABLE moving IN ACCESS EXCLUSIVE MODE;

-- name: moving
SELECT source, inventory, taken FROM moving;

-- name: any_root
SELECT root FROM roots LIMIT 1;

-- name: begin_moving
INSERT INTO moving (source, inventory, taken) VALUES (%(source)s, %(inventory)s, 0)
ON CONFLICT (only_one) DO UPDATE SET inventory = excluded.inventory, taken = 0;

-- name: moved
UPDATE moving SET taken = %(taken)s;

-- name: distrust
-- Marks the received items as wrong, so that the next move starts over.
UPDATE moving SET inventory = '';

-- name: end_moving
DELETE FROM moving;

-- name: empty
TRUNCATE roots, commits, scopes, encoders, contents, vectors, memories, versions, usage, uses, votes, contexts, keys, checkpoints;
