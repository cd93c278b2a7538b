SELECT c.name AS tracker, t.external_id, t.url, t.state
FROM ticket t JOIN channel c USING (channel_id)
WHERE t.app_id = $1::integer AND t.key = $2::text AND t.external_id <> ''
ORDER BY c.deleted_at IS NOT NULL, t.state = 'gone', t.ticket_id DESC
LIMIT 1
