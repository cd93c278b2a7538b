-- $1 job, $2 its attempt, $3 attempts at most, $4 ms until the next, $5 why.
UPDATE job
SET state = CASE WHEN attempts >= $3::bigint THEN 'dead' ELSE 'ready' END,
    run_after = now() + $4::bigint * interval '1 ms',
    lease_until = NULL,
    last_error = $5::text
WHERE job_id = $1::bigint AND state = 'running' AND attempts = $2::integer
