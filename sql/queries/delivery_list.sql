-- A page of an app's deliveries, newest first: of channel $2, in state $3, of kind $4, about $5.
SELECT d.delivery_id AS id, d.channel_id, c.name AS channel, c.kind AS via, d.kind, d.subject, d.version,
       d.state, d.attempts, d.sends, d.last_status, d.last_error,
       to_char(d.next_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS next_at,
       to_char(d.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
       to_char(d.tried_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS tried_at,
       to_char(d.sent_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS sent_at
FROM delivery d JOIN channel c USING (channel_id)
WHERE d.app_id = $1::integer
  AND ($2::bigint IS NULL OR d.channel_id = $2::bigint)
  AND ($3::text IS NULL OR d.state = $3::text)
  AND ($4::text IS NULL OR d.kind = $4::text)
  AND ($5::text IS NULL OR d.subject = $5::text)
  AND ($6::bigint IS NULL OR d.delivery_id < $6::bigint)
ORDER BY d.delivery_id DESC
LIMIT $7::bigint
