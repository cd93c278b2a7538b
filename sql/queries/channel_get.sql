-- One channel of an app; nothing secret.
SELECT c.channel_id AS id, c.name, c.kind, c.takes, c.enabled, c.settings::text AS settings_json, c.target,
       to_json(c.secret_names)::text AS secrets_set_json,
       json_build_object('min_severity', (ARRAY['info', 'warn', 'alert'])[c.min_severity + 1],
                         'tiers', c.tiers, 'metrics', c.metrics, 'states', c.states,
                         'reports', c.reports)::text AS filter_json,
       CASE WHEN c.quiet_from_min <> c.quiet_to_min THEN json_build_object(
           'from', to_char(c.quiet_from_min * interval '1 minute', 'HH24:MI'),
           'to', to_char(c.quiet_to_min * interval '1 minute', 'HH24:MI'),
           'utc_offset_min', c.utc_offset_min,
           'loud_severity', (ARRAY['info', 'warn', 'alert'])[c.loud_severity + 1])::text
       END AS quiet_json,
       c.rate_per_min, c.failures,
       (SELECT count(*) FROM delivery d WHERE d.channel_id = c.channel_id AND d.state = 'pending') AS pending,
       (SELECT count(*) FROM delivery d WHERE d.channel_id = c.channel_id AND d.state = 'dead') AS dead,
       CASE WHEN c.open_at > now() THEN
           to_char(c.open_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END AS held_until,
       to_char(c.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
       to_char(c.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS updated_at
FROM channel c
WHERE c.app_id = $1::integer AND c.channel_id = $2::bigint AND c.deleted_at IS NULL
