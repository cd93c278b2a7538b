-- From now on ticket $1 may exist in its tracker: $2 ms added to the clock. Attempts before this one were
-- looked for in vain.
UPDATE ticket
SET create_tried_at = now() + $2::bigint * interval '1 ms'
WHERE ticket_id = $1::bigint
