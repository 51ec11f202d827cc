-- The names that a content mentions, one a line, and by which version of the rules they were found; who said it is known
-- from the memory. The function is this program's.
ALTER TABLE contents ADD COLUMN entities TEXT NOT NULL DEFAULT '';
ALTER TABLE contents ADD COLUMN naming TEXT NOT NULL DEFAULT '1';

UPDATE contents SET entities = entities(title, text);
