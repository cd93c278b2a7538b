-- Takes the job that is due longest: $1 ms added to the clock, $2 ms of lease, $3 attempts at most.
-- The attempt is counted before the work begins, so a job that kills its worker is counted too; one
-- that used them all up is not run again but comes back as dead. A lost claim costs nothing, so this
-- commit need not reach the disk.
WITH due AS MATERIALIZED (
    SELECT job_id, set_config('synchronous_commit', 'off', true)
    FROM job
    WHERE state <> 'dead'
      AND run_after <= now() + $1::bigint * interval '1 ms'
      AND (state = 'ready' OR lease_until < now() + $1::bigint * interval '1 ms')
    ORDER BY run_after
    LIMIT 1
    FOR UPDATE SKIP LOCKED)
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
