-- Ticket $1 was seen in state $2, the tracker's word being $3; looked at again in $5 ms (0: never),
-- $4 ms added to the clock. $6: the version that it shows.
UPDATE ticket
SET state = $2::text, external_state = $3::text,
    looked_at = now() + $4::bigint * interval '1 ms',
    look_at = CASE WHEN $5::bigint > 0
                   THEN now() + ($4::bigint + $5::bigint) * interval '1 ms' END,
    filed_version = greatest(filed_version, $6::bigint)
WHERE ticket_id = $1::bigint
