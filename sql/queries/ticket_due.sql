-- The ticket of channel $1 whose state is to be read again: $2 ms added to the clock.
SELECT key
FROM ticket
WHERE channel_id = $1::integer AND look_at <= now() + $2::bigint * interval '1 ms'
ORDER BY look_at
LIMIT 1
