-- Delivery $1 was taken with status $5; channel $2 is free again if claim $3 still holds it, $4 ms
-- added to the clock. $6: ms until it is told again, 0: never.
WITH moment AS (SELECT now() + $4::bigint * interval '1 ms' AS at),
freed AS (
    UPDATE channel c
    SET lease_until = NULL, failures = 0, open_at = at + interval '1 minute' / c.rate_per_min
    FROM moment
    WHERE c.channel_id = $2::integer AND c.lease = $3::bigint AND c.lease_until IS NOT NULL
    RETURNING c.channel_id)
UPDATE delivery d
SET state = 'sent', sends = d.sends + 1, sent_at = coalesce(d.sent_at, at),
    attempts = CASE WHEN $6::bigint > 0 THEN 0 ELSE d.attempts END,
    next_at = CASE WHEN $6::bigint > 0 THEN at + $6::bigint * interval '1 ms' END,
    last_status = $5::integer, last_error = ''
FROM freed, moment
WHERE d.delivery_id = $1::bigint
