-- The health check of day $3 of build $2 of app $1, as it was made.
SELECT document, to_char(made_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS made_at
FROM report
WHERE app_id = $1::integer AND build_id = $2::bigint AND kind = 'health' AND step = $3::bigint
