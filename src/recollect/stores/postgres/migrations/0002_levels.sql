-- How coarse a memory is as a record of what happened; a plain one has no level. The records of a scope are read in order
-- of time.
ALTER TABLE memories ADD COLUMN level text COLLATE "C";
ALTER TABLE versions ADD COLUMN level text COLLATE "C";

CREATE INDEX memories_by_level ON memories (root, scope, level, created_at) WHERE level IS NOT NULL;

-- How far something got with a scope, which saves work and can always be found out anew.
CREATE TABLE checkpoints (
    root text COLLATE "C" NOT NULL,
    scope bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    PRIMARY KEY (root, scope, name),
    FOREIGN KEY (root, scope) REFERENCES scopes (root, number)
) PARTITION BY HASH (root);

-- Its partitions and whose rows it has, as of every other table; and whoever may use those may use it.
DO $$
DECLARE
    place integer;
    may record;
BEGIN
    FOR place IN 0..7 LOOP
        EXECUTE format(
            'CREATE TABLE %I PARTITION OF checkpoints FOR VALUES WITH (MODULUS 8, REMAINDER %s)',
            'checkpoints_' || place, place
        );
        EXECUTE format('ALTER TABLE %I ALTER COLUMN root SET STATISTICS 0', 'checkpoints_' || place);
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', 'checkpoints_' || place);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', 'checkpoints_' || place);
    END LOOP;
    FOR may IN
        SELECT acl.privilege_type AS what, CASE acl.grantee WHEN 0 THEN 'PUBLIC' ELSE acl.grantee::regrole::text END AS who
        FROM pg_class c CROSS JOIN aclexplode(c.relacl) acl
        WHERE c.oid = 'keys'::regclass AND acl.grantee <> c.relowner
    LOOP
        EXECUTE format('GRANT %s ON checkpoints TO %s', may.what, may.who);
    END LOOP;
END
$$;
ALTER TABLE checkpoints ENABLE ROW LEVEL SECURITY;
ALTER TABLE checkpoints FORCE ROW LEVEL SECURITY;
CREATE POLICY whose ON checkpoints USING (
    CASE (SELECT current_setting('recollect.reach', true))
        WHEN 'all' THEN true
        WHEN 'root' THEN root = (SELECT current_setting('recollect.root', true))
        WHEN 'scopes' THEN root = (SELECT current_setting('recollect.root', true)) AND scope = ANY (
            (SELECT nullif(current_setting('recollect.numbers', true), '')::bigint[])::bigint[]
        )
        ELSE false
    END
);
