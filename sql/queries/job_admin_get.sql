SELECT job_id AS id, kind, ref, state, attempts, last_error,
       to_char(run_after AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS run_after,
       to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at
FROM job
WHERE app_id = $1::integer AND job_id = $2::bigint
