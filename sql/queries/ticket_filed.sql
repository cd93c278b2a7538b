-- Ticket $1 is there as $2, page $3; it shows the text with hash $4 (NULL: not known).
UPDATE ticket
SET external_id = $2::text, url = $3::text, filed_hash = coalesce($4::bytea, filed_hash),
    filed_episode = episode, state = 'open', filed_at = coalesce(filed_at, now()), updated_at = now()
WHERE ticket_id = $1::bigint
