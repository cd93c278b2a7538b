-- Last statement of a job's own transaction. No row: the lease ran out and another worker has it.
DELETE FROM job WHERE job_id = $1::bigint AND state = 'running' AND attempts = $2::integer
