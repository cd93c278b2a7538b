-- A report that was made by itself; made once.
INSERT INTO report (app_id, kind, build_id, baseline_id, step, sessions, document)
VALUES ($1::integer, $2::text, $3::integer, nullif($4::integer, 0), $5::integer, $6::bigint, $7::text)
ON CONFLICT DO NOTHING
RETURNING report_id AS id
