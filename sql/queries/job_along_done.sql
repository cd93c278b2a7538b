-- Jobs that the transaction holds and has done along with its own.
DELETE FROM job WHERE job_id = ANY ($1::bigint[])
