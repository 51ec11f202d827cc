-- Statements for job runs. Dates are microseconds since 1970, UTC.

-- name: add_job
INSERT INTO jobs (name, since, paused) VALUES (%(job)s, %(since)s, %(paused)s) ON CONFLICT DO NOTHING;

-- name: job
SELECT since, paused FROM jobs WHERE name = %(job)s;

-- name: take_job
-- Another scheduler that reads this row waits until the transaction ends.
SELECT since, paused FROM jobs WHERE name = %(job)s FOR UPDATE;

-- name: set_job
UPDATE jobs SET since = %(since)s, paused = %(paused)s WHERE name = %(job)s;

-- name: occurrences
SELECT due, state, attempt, holder, until, started, ended, counts, problem FROM occurrences
WHERE job = %(job)s ORDER BY due DESC;

-- name: put_occurrence
INSERT INTO occurrences (job, due, state, attempt, holder, until, started, ended, counts, problem)
VALUES (
    %(job)s, %(due)s, %(state)s, %(attempt)s, %(holder)s, %(until)s, %(started)s, %(ended)s,
    %(counts)s, %(problem)s
)
ON CONFLICT (job, due) DO UPDATE SET
    state = excluded.state, attempt = excluded.attempt, holder = excluded.holder, until = excluded.until,
    started = excluded.started, ended = excluded.ended, counts = excluded.counts, problem = excluded.problem;

-- name: drop_occurrences
-- Keeps the newest runs. Drops first those that a clock far ahead made, then the oldest; never one that is not
-- finished.
DELETE FROM occurrences WHERE job = %(job)s AND state IN ('done', 'failed') AND due NOT IN (
    SELECT due FROM occurrences WHERE job = %(job)s ORDER BY CASE WHEN due > %(ahead)s THEN 1 ELSE 0 END, due DESC LIMIT %(most)s
);
