-- What every scheduler of the store knows of a job: nothing counts that fell due up to `since`. It is nobody's: jobs are
-- those of the whole store.
CREATE TABLE jobs (
    name text COLLATE "C" PRIMARY KEY,
    since bigint NOT NULL,
    paused boolean NOT NULL
);

-- The moments at which a job fell due, and what became of each. It is the holder's until a moment; who goes on with it
-- after that has the next `attempt`. Counts are JSON. There is nothing of a memory in it.
CREATE TABLE occurrences (
    job text COLLATE "C" NOT NULL,
    due bigint NOT NULL,
    state text COLLATE "C" NOT NULL,
    attempt bigint NOT NULL,
    holder text COLLATE "C" NOT NULL,
    until bigint NOT NULL,
    started bigint NOT NULL,
    ended bigint,
    counts text COLLATE "C" NOT NULL,
    problem text COLLATE "C",
    PRIMARY KEY (job, due)
);

-- Whoever may use the other tables may use these.
DO $$
DECLARE
    may record;
BEGIN
    FOR may IN
        SELECT acl.privilege_type AS what, CASE acl.grantee WHEN 0 THEN 'PUBLIC' ELSE acl.grantee::regrole::text END AS who
        FROM pg_class c CROSS JOIN aclexplode(c.relacl) acl
        WHERE c.oid = 'keys'::regclass AND acl.grantee <> c.relowner
    LOOP
        EXECUTE format('GRANT %s ON jobs, occurrences TO %s', may.what, may.who);
    END LOOP;
END
$$;
