-- The memories of a scope are listed by their status in the order of ids, from any of them on.
CREATE INDEX memories_by_status ON memories (root, scope, status, id);
