-- Somebody ($3) has seen a live alert.
UPDATE alert
SET state = 'acknowledged', version = version + 1, acknowledged_by = $3::text, note = $4::text
WHERE app_id = $1::integer AND alert_id = $2::bigint AND state IN ('open', 'updated')
