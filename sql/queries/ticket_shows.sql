-- Ticket $1 shows the text with hash $2 now.
UPDATE ticket SET filed_hash = $2::bytea, updated_at = now() WHERE ticket_id = $1::bigint
