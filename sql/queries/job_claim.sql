-- Takes a job that is due: of the app after app $4, in a circle, the one that is due longest. $1 ms
-- are added to the clock, $2 ms of lease, $3 attempts at most. The attempt is counted before the work
-- begins, so a job that kills its worker is counted too; one that used them all up is not run again
-- but comes back as dead. A lost claim costs nothing, so this commit need not reach the disk.
WITH RECURSIVE app AS (
    (SELECT app_id FROM job WHERE state <> 'dead' ORDER BY app_id LIMIT 1)
    UNION ALL
    SELECT (SELECT j.app_id FROM job j
            WHERE j.state <> 'dead' AND j.app_id > app.app_id
            ORDER BY j.app_id LIMIT 1)
    FROM app
    WHERE app.app_id IS NOT NULL),
due AS MATERIALIZED (
    SELECT j.job_id, set_config('synchronous_commit', 'off', true)
    FROM (SELECT app_id FROM app
          WHERE app_id IS NOT NULL
          ORDER BY app_id <= $4::bigint, app_id) AS a
    CROSS JOIN LATERAL (
        SELECT job_id
        FROM job
        WHERE app_id = a.app_id AND state <> 'dead'
          AND run_after <= now() + $1::bigint * interval '1 ms'
          AND (state = 'ready' OR lease_until < now() + $1::bigint * interval '1 ms')
        ORDER BY run_after
        LIMIT 1
        FOR UPDATE SKIP LOCKED) AS j
    LIMIT 1)
UPDATE job j
SET state = CASE WHEN attempts < $3::bigint THEN 'running' ELSE 'dead' END,
    attempts = attempts + CASE WHEN attempts < $3::bigint THEN 1 ELSE 0 END,
    lease_until = now() + ($1::bigint + $2::bigint) * interval '1 ms',
    last_error = CASE WHEN attempts < $3::bigint OR last_error <> '' THEN last_error
                      ELSE 'the worker ended or hung while running it, each time' END
FROM due
WHERE j.job_id = due.job_id
RETURNING j.job_id, j.kind, j.shard, j.ref, j.app_id, j.attempts, j.state = 'dead' AS dead,
          j.day - DATE '2000-01-01' AS day
