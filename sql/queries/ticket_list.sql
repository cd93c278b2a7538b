-- A page of an app's tickets, newest first: in state $2, with key $3.
SELECT t.ticket_id AS id, t.key, c.name AS channel, c.kind AS via, t.wanted::json ->> 'title' AS title,
       t.wanted::json ->> 'owner' AS owner, t.state, t.external_state, t.external_id, t.url,
       t.wanted_version, t.filed_version, t.episode, t.filed_episode,
       to_char(t.filed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS filed_at,
       to_char(t.looked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS looked_at,
       to_char(t.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
       to_char(t.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS updated_at
FROM ticket t JOIN channel c USING (channel_id)
WHERE t.app_id = $1::integer
  AND ($2::text IS NULL OR t.state = $2::text)
  AND ($3::text IS NULL OR t.key = $3::text)
  AND ($4::bigint IS NULL OR t.ticket_id < $4::bigint)
ORDER BY t.ticket_id DESC
LIMIT $5::bigint
