-- Statements for a store that is being moved here from another one.

-- name: lock_moving
-- One mover at a time. Whoever writes has looked here, and is waited for.
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
-- What came is not what was to come: next time it begins anew.
UPDATE moving SET inventory = '';

-- name: end_moving
DELETE FROM moving;

-- name: empty
TRUNCATE roots, commits, scopes, encoders, contents, vectors, memories, versions, usage, uses, votes, contexts, keys, checkpoints;
