-- Every table that holds what somebody remembers begins its keys with the root of the scope, the first part of its path,
-- and is spread over partitions by it. Texts are compared byte by byte, so that order is the same everywhere.

-- Numbers, each for one table and all roots.
CREATE SEQUENCE scopes_numbers;
CREATE SEQUENCE contents_numbers;
CREATE SEQUENCE memories_numbers;
CREATE SEQUENCE versions_numbers;
CREATE SEQUENCE uses_numbers;
CREATE SEQUENCE votes_numbers;

-- Whose turn it is: who writes into a root holds its row, so that its commits come one after another.
CREATE TABLE roots (
    root text COLLATE "C" NOT NULL,
    PRIMARY KEY (root)
) PARTITION BY HASH (root);

-- Who wrote what when: one row for every transaction that changed anything of a root.
CREATE TABLE commits (
    root text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    recorded_at bigint NOT NULL,  -- microseconds since 1970, UTC, as every date here
    token uuid NOT NULL,  -- by which a writer whose connection broke knows whether its commit came through
    PRIMARY KEY (root, number)
) PARTITION BY HASH (root);

CREATE INDEX commits_by_token ON commits (root, token);

-- Whose memory. `changed` and `used` are the last commits that touched its memories and their usage; `emptied` counts
-- erasures, after which nothing that was read before may be relied on.
CREATE TABLE scopes (
    root text COLLATE "C" NOT NULL,
    number bigint NOT NULL DEFAULT nextval('scopes_numbers'),
    path text COLLATE "C" NOT NULL,
    changed bigint NOT NULL DEFAULT 0,
    used bigint NOT NULL DEFAULT 0,
    emptied bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (root, number),
    UNIQUE (root, path)
) PARTITION BY HASH (root);

-- The models whose vectors are kept; one of them is the present one. They are nobody's: every root has the same.
CREATE TABLE encoders (
    number smallint PRIMARY KEY CHECK (number BETWEEN 1 AND 255),  -- 0 is for stores without a model
    name text COLLATE "C" NOT NULL,
    dimensions integer NOT NULL,
    present boolean NOT NULL,
    UNIQUE (name, dimensions)
);
CREATE UNIQUE INDEX one_present_encoder ON encoders (present) WHERE present;

-- What a memory says or said, with its index of terms; shared by the versions that say the same.
CREATE TABLE contents (
    root text COLLATE "C" NOT NULL,
    number bigint NOT NULL DEFAULT nextval('contents_numbers'),
    scope bigint NOT NULL,
    title text COLLATE "C",
    text text COLLATE "C" NOT NULL,
    hash text COLLATE "C" NOT NULL,
    terms bytea NOT NULL,
    analyser text COLLATE "C" NOT NULL,
    entities text COLLATE "C" NOT NULL,
    naming text COLLATE "C" NOT NULL,
    PRIMARY KEY (root, number),
    FOREIGN KEY (root, scope) REFERENCES scopes (root, number)
) PARTITION BY HASH (root);

CREATE INDEX contents_by_number ON contents (number);  -- for what goes through those of all roots

-- The direction a model gave a content: 32-bit floats, of length 1 together.
CREATE TABLE vectors (
    root text COLLATE "C" NOT NULL,
    content bigint NOT NULL,
    encoder smallint NOT NULL,
    scope bigint NOT NULL,
    value {vectors}.vector NOT NULL,
    PRIMARY KEY (root, content, encoder),
    FOREIGN KEY (root, content) REFERENCES contents (root, number) ON DELETE CASCADE
) PARTITION BY HASH (root);

-- Every memory as it stands.
CREATE TABLE memories (
    root text COLLATE "C" NOT NULL,
    number bigint NOT NULL DEFAULT nextval('memories_numbers'),
    id text COLLATE "C" NOT NULL,
    scope bigint NOT NULL,
    content bigint NOT NULL,
    hash text COLLATE "C" NOT NULL,
    likeness text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    shared boolean NOT NULL,
    pinned boolean NOT NULL,
    topic_key text COLLATE "C",
    subject text COLLATE "C",
    importance double precision,
    confidence double precision,
    salience double precision,
    revisions bigint NOT NULL,
    created_at bigint NOT NULL,
    observed_at bigint,
    updated_at bigint,
    valid_from bigint,
    valid_until bigint,
    more text COLLATE "C" NOT NULL,  -- what ranking never looks at, as JSON: tags, session, speaker, lineage, metadata
    recorded_at bigint NOT NULL,
    changed bigint NOT NULL,  -- the commit of this version
    PRIMARY KEY (root, number),
    UNIQUE (root, id),
    FOREIGN KEY (root, scope) REFERENCES scopes (root, number),
    FOREIGN KEY (root, content) REFERENCES contents (root, number)
) PARTITION BY HASH (root);
CREATE INDEX memories_by_number ON memories (number);  -- for what goes through those of all roots
CREATE INDEX memories_by_scope ON memories (root, scope, changed);
CREATE INDEX memories_by_content ON memories (root, content);
CREATE INDEX memories_by_hash ON memories (root, scope, hash);
CREATE INDEX memories_by_likeness ON memories (root, scope, likeness) WHERE likeness <> '';
CREATE INDEX memories_by_subject ON memories (root, scope, subject) WHERE subject IS NOT NULL;
CREATE UNIQUE INDEX one_active_memory_says_it ON memories (root, scope, hash, coalesce(topic_key, ''))
WHERE status = 'active';
CREATE UNIQUE INDEX one_active_memory_of_a_topic ON memories (root, scope, topic_key)
WHERE status = 'active' AND topic_key IS NOT NULL;

-- Every memory as it stood, from commit `changed` to before commit `until`.
CREATE TABLE versions (
    root text COLLATE "C" NOT NULL,
    number bigint NOT NULL DEFAULT nextval('versions_numbers'),
    memory bigint NOT NULL,
    scope bigint NOT NULL,
    until bigint NOT NULL,
    content bigint NOT NULL,
    hash text COLLATE "C" NOT NULL,
    likeness text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    shared boolean NOT NULL,
    pinned boolean NOT NULL,
    topic_key text COLLATE "C",
    subject text COLLATE "C",
    importance double precision,
    confidence double precision,
    salience double precision,
    revisions bigint NOT NULL,
    created_at bigint NOT NULL,
    observed_at bigint,
    updated_at bigint,
    valid_from bigint,
    valid_until bigint,
    more text COLLATE "C" NOT NULL,
    recorded_at bigint NOT NULL,
    changed bigint NOT NULL,
    PRIMARY KEY (root, number),
    FOREIGN KEY (root, memory) REFERENCES memories (root, number) ON DELETE CASCADE,
    FOREIGN KEY (root, content) REFERENCES contents (root, number)
) PARTITION BY HASH (root);
CREATE INDEX versions_by_memory ON versions (root, memory, changed);
CREATE INDEX versions_by_content ON versions (root, content);
CREATE INDEX versions_by_hash ON versions (root, hash);

-- What happened to a memory, added up, and by whom it was last changed.
CREATE TABLE usage (
    root text COLLATE "C" NOT NULL,
    memory bigint NOT NULL,
    scope bigint NOT NULL,
    served bigint NOT NULL DEFAULT 0,
    helped bigint NOT NULL DEFAULT 0,
    misled bigint NOT NULL DEFAULT 0,
    echoed bigint NOT NULL DEFAULT 0,
    last_served_at bigint,
    last_echoed_at bigint,
    changed bigint NOT NULL,
    PRIMARY KEY (root, memory),
    FOREIGN KEY (root, memory) REFERENCES memories (root, number) ON DELETE CASCADE
) PARTITION BY HASH (root);
CREATE INDEX usage_by_scope ON usage (root, scope, changed);

-- The same, one by one.
CREATE TABLE uses (
    root text COLLATE "C" NOT NULL,
    number bigint NOT NULL DEFAULT nextval('uses_numbers'),
    memory bigint NOT NULL,
    scope bigint NOT NULL,
    use text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    context text COLLATE "C",
    changed bigint NOT NULL,
    PRIMARY KEY (root, number),
    FOREIGN KEY (root, memory) REFERENCES memories (root, number) ON DELETE CASCADE
) PARTITION BY HASH (root);
CREATE INDEX uses_by_memory ON uses (root, memory, changed);
CREATE INDEX uses_by_context ON uses (root, context) WHERE context IS NOT NULL;

-- Every vote ever cast; of those on one memory in one context, a principal's last one holds.
CREATE TABLE votes (
    root text COLLATE "C" NOT NULL,
    number bigint NOT NULL DEFAULT nextval('votes_numbers'),
    memory bigint NOT NULL,
    scope bigint NOT NULL,
    context text COLLATE "C" NOT NULL,
    by text COLLATE "C" NOT NULL,
    use text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    changed bigint NOT NULL,
    PRIMARY KEY (root, number),
    FOREIGN KEY (root, memory) REFERENCES memories (root, number) ON DELETE CASCADE
) PARTITION BY HASH (root);
CREATE INDEX votes_by_memory ON votes (root, memory, changed);

-- What contexts were made of.
CREATE TABLE contexts (
    root text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    scope bigint NOT NULL,
    made_at bigint NOT NULL,
    trace text COLLATE "C" NOT NULL,
    changed bigint NOT NULL,
    PRIMARY KEY (root, id),
    FOREIGN KEY (root, scope) REFERENCES scopes (root, number)
) PARTITION BY HASH (root);
CREATE INDEX contexts_by_scope ON contexts (root, scope, made_at);

-- Keys that make a retry harmless.
CREATE TABLE keys (
    root text COLLATE "C" NOT NULL,
    scope bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    body text COLLATE "C" NOT NULL,
    memory bigint NOT NULL,
    verdict text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (root, scope, key),
    FOREIGN KEY (root, memory) REFERENCES memories (root, number) ON DELETE CASCADE
) PARTITION BY HASH (root);
CREATE INDEX keys_by_age ON keys (root, scope, at);
CREATE INDEX keys_by_memory ON keys (root, memory);

-- There is a row while another store is being moved here, with how much of it has come; nobody uses it until it is whole.
CREATE TABLE moving (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    source text COLLATE "C" NOT NULL,
    inventory text COLLATE "C" NOT NULL,
    taken bigint NOT NULL
);

-- The partitions, eight of each table. Rows of a partition are found by their root before anything else, so how many
-- there are is a matter of upkeep: each is vacuumed and indexed by itself.
DO $$
DECLARE
    parent text;
    place integer;
BEGIN
    FOREACH parent IN ARRAY ARRAY[
        'roots', 'commits', 'scopes', 'contents', 'vectors', 'memories', 'versions', 'usage', 'uses', 'votes',
        'contexts', 'keys'
    ] LOOP
        FOR place IN 0..7 LOOP
            EXECUTE format(
                'CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 8, REMAINDER %s)',
                parent || '_' || place, parent, place
            );
            -- of a root that it has not counted yet the planner would think that it has one row
            EXECUTE format('ALTER TABLE %I ALTER COLUMN root SET STATISTICS 0', parent || '_' || place);
            -- asked for by its own name, past the table it is part of, a partition has nothing to show
            EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', parent || '_' || place);
            EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', parent || '_' || place);
        END LOOP;
    END LOOP;
END
$$;

-- Row-level security: a transaction says first for whom it is, and sees nothing before. `recollect.reach` is 'scopes'
-- for those in `recollect.paths`, one a line, 'root' for all scopes of `recollect.root`, 'all' for everything; for every
-- transaction anew, so that a pooler may hand a connection on between two of them. The numbers of these scopes are told
-- beside their paths in `recollect.numbers`, since a policy that looked them up would be planned with each statement. What
-- an ancestor shares with the scopes below it is for statements to say: it may have shared it once, and not any more.
DO $$
DECLARE
    name text;
    reach CONSTANT text := '(SELECT current_setting(''recollect.reach'', true))';
    here CONSTANT text := 'root = (SELECT current_setting(''recollect.root'', true))';
    paths CONSTANT text := '(SELECT string_to_array(current_setting(''recollect.paths'', true), E''\n''))::text[]';
    numbers CONSTANT text := '(SELECT nullif(current_setting(''recollect.numbers'', true), '''')::bigint[])::bigint[]';
    narrow text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'roots', 'commits', 'scopes', 'contents', 'vectors', 'memories', 'versions', 'usage', 'uses', 'votes',
        'contexts', 'keys'
    ] LOOP
        narrow := CASE
            WHEN name IN ('roots', 'commits') THEN 'true'
            WHEN name = 'scopes' THEN format('path = ANY (%s)', paths)
            ELSE format('scope = ANY (%s)', numbers)
        END;
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY whose ON %I USING (CASE %s WHEN ''all'' THEN true WHEN ''root'' THEN %s'
            || ' WHEN ''scopes'' THEN %s AND %s ELSE false END)',
            name, reach, here, here, narrow
        );
    END LOOP;
END
$$;
