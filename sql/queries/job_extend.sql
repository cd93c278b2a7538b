-- $3 ms (on a clock $4 ms ahead) more for a job that takes long. No row: it is another worker's now.
UPDATE job
SET lease_until = now() + ($3::bigint + $4::bigint) * interval '1 ms'
WHERE job_id = $1::bigint AND state = 'running' AND attempts = $2::integer
