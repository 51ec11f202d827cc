-- Statements for a store that is being moved here from another one.

-- name: lock_moving
-- One mover at a time.
LOCK TABLE moving IN EXCLUSIVE MODE;

-- name: moving
SELECT inventory, taken FROM moving;

-- name: any_root
SELECT root FROM roots LIMIT 1;

-- name: begin_moving
INSERT INTO moving (inventory, taken) VALUES (%(inventory)s, 0)
ON CONFLICT (only_one) DO UPDATE SET inventory = excluded.inventory, taken = 0;

-- name: moved
UPDATE moving SET taken = %(taken)s;

-- name: end_moving
DELETE FROM moving;

-- name: empty
TRUNCATE roots, commits, scopes, encoders, contents, vectors, memories, versions, usage, uses, votes, contexts, keys;
