-- What is still to be said on ticket $1, oldest first.
SELECT comment_id, body, tried, (extract(epoch FROM created_at) * 1000000)::bigint AS created_us
FROM ticket_comment
WHERE ticket_id = $1::bigint AND said_at IS NULL
ORDER BY created_at, comment_id
LIMIT 10
