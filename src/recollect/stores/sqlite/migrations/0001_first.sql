-- Who wrote what when: one row for every transaction that changed anything.
CREATE TABLE commits (
    number INTEGER PRIMARY KEY,
    recorded_at INTEGER NOT NULL  -- microseconds since 1970, UTC, as every date here
) STRICT;

-- Whose memory. `changed` and `used` are the last commits that touched its memories and their usage; `emptied` counts
-- erasures, after which nothing that was read before may be relied on.
CREATE TABLE scopes (
    number INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    changed INTEGER NOT NULL DEFAULT 0,
    used INTEGER NOT NULL DEFAULT 0,
    emptied INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The models whose vectors are kept; one of them is the present one.
CREATE TABLE encoders (
    number INTEGER PRIMARY KEY CHECK (number BETWEEN 1 AND 255),  -- 0 is for stores without a model
    name TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    present INTEGER NOT NULL CHECK (present IN (0, 1)),
    UNIQUE (name, dimensions)
) STRICT;
CREATE UNIQUE INDEX one_present_encoder ON encoders (present) WHERE present = 1;

-- What a memory says or said, with its index of terms; shared by the versions that say the same.
CREATE TABLE contents (
    number INTEGER PRIMARY KEY,
    title TEXT,
    text TEXT NOT NULL,
    hash TEXT NOT NULL,
    terms BLOB NOT NULL,
    analyser TEXT NOT NULL
) STRICT;

-- The direction a model gave a content. The key is 256 × content + encoder, so that it is found without a second index.
CREATE TABLE vectors (
    key INTEGER PRIMARY KEY,
    value BLOB NOT NULL  -- 32-bit floats, little-endian, of length 1 together
) STRICT;

-- Every memory as it stands.
CREATE TABLE memories (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    scope INTEGER NOT NULL REFERENCES scopes (number),
    content INTEGER NOT NULL REFERENCES contents (number),
    hash TEXT NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    shared INTEGER NOT NULL,
    pinned INTEGER NOT NULL,
    topic_key TEXT,
    importance REAL,
    confidence REAL,
    salience REAL,
    revisions INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    observed_at INTEGER,
    updated_at INTEGER,
    valid_from INTEGER,
    valid_until INTEGER,
    more TEXT NOT NULL,  -- what ranking never looks at, as JSON: tags, session, speaker, provenance, lineage, metadata
    recorded_at INTEGER NOT NULL,
    changed INTEGER NOT NULL  -- the commit of this version
) STRICT;
CREATE INDEX memories_by_scope ON memories (scope, changed);
CREATE INDEX memories_by_content ON memories (content);
CREATE UNIQUE INDEX one_active_memory_says_it ON memories (scope, hash, coalesce(topic_key, ''))
WHERE status = 'active';
CREATE UNIQUE INDEX one_active_memory_of_a_topic ON memories (scope, topic_key)
WHERE status = 'active' AND topic_key IS NOT NULL;

-- Every memory as it stood, from commit `changed` to before commit `until`.
CREATE TABLE versions (
    number INTEGER PRIMARY KEY,
    memory INTEGER NOT NULL REFERENCES memories (number) ON DELETE CASCADE,
    until INTEGER NOT NULL,
    content INTEGER NOT NULL REFERENCES contents (number),
    hash TEXT NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    shared INTEGER NOT NULL,
    pinned INTEGER NOT NULL,
    topic_key TEXT,
    importance REAL,
    confidence REAL,
    salience REAL,
    revisions INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    observed_at INTEGER,
    updated_at INTEGER,
    valid_from INTEGER,
    valid_until INTEGER,
    more TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    changed INTEGER NOT NULL
) STRICT;
CREATE INDEX versions_by_memory ON versions (memory, changed);
CREATE INDEX versions_by_content ON versions (content);

-- What happened to a memory, added up, and by whom it was last changed.
CREATE TABLE usage (
    memory INTEGER PRIMARY KEY REFERENCES memories (number) ON DELETE CASCADE,
    scope INTEGER NOT NULL,
    served INTEGER NOT NULL DEFAULT 0,
    helped INTEGER NOT NULL DEFAULT 0,
    misled INTEGER NOT NULL DEFAULT 0,
    echoed INTEGER NOT NULL DEFAULT 0,
    last_served_at INTEGER,
    last_echoed_at INTEGER,
    changed INTEGER NOT NULL
) STRICT;
CREATE INDEX usage_by_scope ON usage (scope, changed);

-- The same, one by one.
CREATE TABLE uses (
    number INTEGER PRIMARY KEY,
    memory INTEGER NOT NULL REFERENCES memories (number) ON DELETE CASCADE,
    use TEXT NOT NULL,
    at INTEGER NOT NULL,
    context TEXT,
    changed INTEGER NOT NULL
) STRICT;
CREATE INDEX uses_by_memory ON uses (memory, changed);

-- Every vote ever cast; of those on one memory in one context, a principal's last one holds.
CREATE TABLE votes (
    number INTEGER PRIMARY KEY,
    memory INTEGER NOT NULL REFERENCES memories (number) ON DELETE CASCADE,
    context TEXT NOT NULL,
    by TEXT NOT NULL,
    use TEXT NOT NULL,
    at INTEGER NOT NULL,
    changed INTEGER NOT NULL
) STRICT;
CREATE INDEX votes_by_memory ON votes (memory, changed);

-- What contexts were made of.
CREATE TABLE contexts (
    id TEXT PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES scopes (number),
    made_at INTEGER NOT NULL,
    trace TEXT NOT NULL,
    changed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX contexts_by_scope ON contexts (scope, made_at);

-- Keys that make a retry harmless.
CREATE TABLE keys (
    scope INTEGER NOT NULL REFERENCES scopes (number),
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    memory INTEGER NOT NULL REFERENCES memories (number) ON DELETE CASCADE,
    verdict TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_by_age ON keys (scope, at);
CREATE INDEX keys_by_memory ON keys (memory);
