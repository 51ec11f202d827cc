-- How coarse a memory is as a record of what happened; a plain one has no level. The records of a scope are read in order
-- of time.
ALTER TABLE memories ADD COLUMN level TEXT;
ALTER TABLE versions ADD COLUMN level TEXT;

CREATE INDEX memories_by_level ON memories (scope, level, created_at) WHERE level IS NOT NULL;

-- How far something got with a scope, which saves work and can always be found out anew.
CREATE TABLE checkpoints (
    scope INTEGER NOT NULL REFERENCES scopes (number),
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (scope, name)
) STRICT, WITHOUT ROWID;
