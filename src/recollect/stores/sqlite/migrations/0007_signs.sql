-- What speaks for a memory without anybody saying so, as that it was quoted, is one of its uses: once for a context.
ALTER TABLE usage ADD COLUMN quoted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN followed INTEGER NOT NULL DEFAULT 0;

CREATE UNIQUE INDEX one_sign_of_a_context ON uses (context, memory, use) WHERE use IN ('quoted', 'followed');
CREATE INDEX votes_by_context ON votes (context);
