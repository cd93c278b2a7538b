-- From now on comment $2 may stand on ticket $1.
UPDATE ticket_comment SET tried = true WHERE ticket_id = $1::bigint AND comment_id = $2::text
