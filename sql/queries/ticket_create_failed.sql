-- Ticket $1 was certainly not made by the attempt.
UPDATE ticket SET create_tried_at = NULL WHERE ticket_id = $1::bigint
