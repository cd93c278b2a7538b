-- One alert of an app.
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
WHERE a.app_id = $1::integer AND a.alert_id = $2::bigint
