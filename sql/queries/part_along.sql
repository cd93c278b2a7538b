-- Jobs of app $1 that wait for files known to be of session $5, beside job $2; $3 ms are added to
-- the clock, at most $4 of them. Locked until the transaction ends; those that failed before keep to
-- themselves.
SELECT job_id, shard, day - DATE '2000-01-01' AS day, ref
FROM job
WHERE app_id = $1::integer AND session = $5::uuid AND kind = 'part' AND state = 'ready'
  AND attempts = 0 AND job_id <> $2::bigint
  AND run_after <= now() + $3::bigint * interval '1 ms'
ORDER BY run_after, job_id
LIMIT $4::bigint
FOR UPDATE SKIP LOCKED
