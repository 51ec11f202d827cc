-- Statements for job runs. Dates are microseconds since 1970, UTC.

-- name: add_job
INSERT INTO jobs (name, since, paused) VALUES (:job, :since, :paused) ON CONFLICT DO NOTHING;

-- name: job
SELECT since, paused FROM jobs WHERE name = :job;

-- name: take_job
-- Needs no lock: SQLite has one writer at a time.
SELECT since, paused FROM jobs WHERE name = :job;

-- name: set_job
UPDATE jobs SET since = :since, paused = :paused WHERE name = :job;

-- name: occurrences
SELECT due, state, attempt, holder, until, started, ended, counts, problem FROM occurrences
WHERE job = :job ORDER BY due DESC;

-- name: put_occurrence
INSERT INTO occurrences (job, due, state, attempt, holder, until, started, ended, counts, problem)
VALUES (:job, :due, :state, :attempt, :holder, :until, :started, :ended, :counts, :problem)
ON CONFLICT (job, due) DO UPDATE SET
    state = excluded.state, attempt = excluded.attempt, holder = excluded.holder, until = excluded.until,
    started = excluded.started, ended = excluded.ended, counts = excluded.counts, problem = excluded.problem;

-- name: drop_occurrences
-- Keeps the newest runs. Drops first those that a clock far ahead made, then the oldest; never one that is not
-- finished.
DELETE FROM occurrences WHERE job = :job AND state IN ('done', 'failed') AND due NOT IN (
    SELECT due FROM occurrences WHERE job = :job ORDER BY due > :ahead, due DESC LIMIT :most
);
