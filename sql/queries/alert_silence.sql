-- Nothing is told of an alert for $5 days; 0: told again from now on.
UPDATE alert
SET state = CASE WHEN $5::bigint > 0 THEN 'silenced' ELSE 'updated' END, version = version + 1,
    silenced_until = CASE WHEN $5::bigint > 0 THEN now() + $5::bigint * interval '1 day' END,
    acknowledged_by = $3::text, note = $4::text
WHERE app_id = $1::integer AND alert_id = $2::bigint
  AND CASE WHEN $5::bigint > 0 THEN state IN ('open', 'updated', 'acknowledged', 'silenced')
           ELSE state = 'silenced' END
