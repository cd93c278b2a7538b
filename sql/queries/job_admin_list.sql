-- A page of an app's jobs in one state, newest first.
SELECT job_id AS id, kind, ref, state, attempts, last_error,
       to_char(run_after AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS run_after,
       to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at
FROM job
WHERE app_id = $1::integer AND state = $2::text
  AND ($3::bigint IS NULL OR job_id < $3::bigint)
ORDER BY job_id DESC
LIMIT $4::bigint
