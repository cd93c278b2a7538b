-- The same of those that nobody looked into yet, with files of at most $5 bytes.
SELECT j.job_id, j.shard, j.day - DATE '2000-01-01' AS day, j.ref
FROM job j
JOIN upload u ON u.shard = j.shard AND u.upload_id = j.ref AND u.length <= $5::bigint
WHERE j.app_id = $1::integer AND j.session IS NULL AND j.kind = 'part' AND j.state = 'ready'
  AND j.state <> 'dead' AND j.attempts = 0 AND j.job_id <> $2::bigint
  AND j.run_after <= now() + $3::bigint * interval '1 ms'
ORDER BY j.run_after, j.job_id
LIMIT $4::bigint
FOR UPDATE OF j SKIP LOCKED
