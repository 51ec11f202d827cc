-- What memories have in common is read by new rules, so that what was kept before is known again; and what they said
-- once can be found. The function is this program's.
UPDATE memories SET likeness = (
    SELECT likeness(c.text, memories.more ->> '$.speaker', memories.kind) FROM contents c WHERE c.number = memories.content
) WHERE likeness <> '';
UPDATE versions SET likeness = (
    SELECT likeness(c.text, versions.more ->> '$.speaker', versions.kind) FROM contents c WHERE c.number = versions.content
) WHERE likeness <> '';

-- The sum of a text that somebody said was kept as the sum of the saying.
UPDATE contents SET hash = content_hash(text) WHERE hash <> content_hash(text);

CREATE INDEX versions_by_hash ON versions (hash);
