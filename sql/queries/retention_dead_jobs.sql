DELETE FROM job
WHERE job_id IN (
    SELECT job_id FROM job
    WHERE state = 'dead' AND day < (now() AT TIME ZONE 'UTC')::date - $1::integer
    LIMIT $2::integer
    FOR UPDATE SKIP LOCKED)
