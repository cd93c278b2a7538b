-- A dead job is due again, with all its attempts before it.
UPDATE job
SET state = 'ready', attempts = 0, run_after = now(), lease_until = NULL
WHERE app_id = $1::integer AND job_id = $2::bigint AND state = 'dead'
