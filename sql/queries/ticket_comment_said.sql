-- Comment $2 stands on ticket $1.
UPDATE ticket_comment SET said_at = now() WHERE ticket_id = $1::bigint AND comment_id = $2::text
