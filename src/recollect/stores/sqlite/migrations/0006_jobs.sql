-- What every scheduler of the store knows of a job: nothing counts that fell due up to `since`.
CREATE TABLE jobs (
    name TEXT PRIMARY KEY,
    since INTEGER NOT NULL,
    paused INTEGER NOT NULL CHECK (paused IN (0, 1))
) STRICT, WITHOUT ROWID;

-- The moments at which a job fell due, and what became of each. It is the holder's until a moment; who goes on with it
-- after that has the next `attempt`. Counts are JSON. There is nothing of a memory in it.
CREATE TABLE occurrences (
    job TEXT NOT NULL,
    due INTEGER NOT NULL,
    state TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    holder TEXT NOT NULL,
    until INTEGER NOT NULL,
    started INTEGER NOT NULL,
    ended INTEGER,
    counts TEXT NOT NULL,
    problem TEXT,
    PRIMARY KEY (job, due)
) STRICT, WITHOUT ROWID;
