-- A page of an app's alerts, the latest first. State 'live': open, updated or acknowledged. $7: with
-- those that never were one, but are surely worse or better.
SELECT a.alert_id AS id, a.build_id, a.baseline_id, a.tier::bigint AS tier, a.scene, a.metric, a.state,
       a.level, a.reason, a.version, a.sessions, coalesce(a.change, 'NaN') AS change,
       coalesce(a.low, 'NaN') AS low, coalesce(a.high, 'NaN') AS high,
       a.evidence::text AS evidence_json,
       to_char(a.opened_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS opened_at,
       to_char(a.resolved_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS resolved_at,
       to_char(a.looked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS looked_at,
       a.acknowledged_by, a.note,
       to_char(a.silenced_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS silenced_until
FROM alert a
WHERE a.app_id = $1::integer
  AND (a.state <> 'quiet' OR ($7::boolean AND a.level <> 'none'))
  AND ($2::text IS NULL OR a.state = $2::text
       OR ($2::text = 'live' AND a.state IN ('open', 'updated', 'acknowledged')))
  AND ($3::bigint IS NULL OR a.build_id = $3::bigint)
  AND ($4::bigint IS NULL OR a.tier = $4::bigint)
  AND ($5::text IS NULL OR a.scene = $5::text)
  AND ($6::text IS NULL OR a.metric = $6::text)
  AND ($8::bigint IS NULL OR a.alert_id < $8::bigint)
ORDER BY a.alert_id DESC
LIMIT $9::bigint
