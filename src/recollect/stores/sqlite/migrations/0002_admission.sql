-- What a memory has in common with others that say the same in other words, and what it is about. Whose words they are
-- is part of what tells them from others. The functions are this program's.
ALTER TABLE memories ADD COLUMN likeness TEXT NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN subject TEXT;
ALTER TABLE versions ADD COLUMN likeness TEXT NOT NULL DEFAULT '';
ALTER TABLE versions ADD COLUMN subject TEXT;

UPDATE memories SET (hash, likeness) = (
    SELECT said_hash(c.text, memories.more ->> '$.speaker', memories.kind),
           likeness(c.text, memories.more ->> '$.speaker', memories.kind)
    FROM contents c WHERE c.number = memories.content
);
UPDATE versions SET (hash, likeness) = (
    SELECT said_hash(c.text, versions.more ->> '$.speaker', versions.kind),
           likeness(c.text, versions.more ->> '$.speaker', versions.kind)
    FROM contents c WHERE c.number = versions.content
);

CREATE INDEX memories_by_hash ON memories (scope, hash);
CREATE INDEX memories_by_likeness ON memories (scope, likeness) WHERE likeness <> '';
CREATE INDEX memories_by_subject ON memories (scope, subject) WHERE subject IS NOT NULL;
