-- A report as it was made.
SELECT kind, document FROM report WHERE app_id = $1::integer AND report_id = $2::bigint
