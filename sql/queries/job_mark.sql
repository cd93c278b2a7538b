-- Of jobs that the transaction holds: whose session each file is of.
UPDATE job j SET session = n.session
FROM unnest($1::bigint[], $2::uuid[]) AS n (job_id, session)
WHERE j.job_id = n.job_id
