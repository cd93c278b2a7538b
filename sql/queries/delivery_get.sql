SELECT d.delivery_id AS id, d.channel_id, c.name AS channel, c.kind AS via, d.kind, d.subject, d.version,
       d.state, d.attempts, d.sends, d.last_status, d.last_error, d.body AS body_json,
       to_char(d.next_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS next_at,
       to_char(d.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
       to_char(d.tried_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS tried_at,
       to_char(d.sent_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS sent_at
FROM delivery d JOIN channel c USING (channel_id)
WHERE d.app_id = $1::integer AND d.delivery_id = $2::bigint
