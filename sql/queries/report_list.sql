-- A page of an app's reports that were made by themselves, the latest first.
SELECT report_id AS id, kind, build_id, baseline_id, step, sessions,
       to_char(made_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS made_at
FROM report
WHERE app_id = $1::integer
  AND ($2::bigint IS NULL OR build_id = $2::bigint)
  AND ($3::text IS NULL OR kind = $3::text)
  AND ($4::bigint IS NULL OR report_id < $4::bigint)
ORDER BY report_id DESC
LIMIT $5::bigint
