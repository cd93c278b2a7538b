-- Ticket $1 could not be looked at: again in $3 ms, $2 ms added to the clock.
UPDATE ticket
SET look_at = now() + ($2::bigint + $3::bigint) * interval '1 ms'
WHERE ticket_id = $1::bigint
