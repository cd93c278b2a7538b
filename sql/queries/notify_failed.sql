-- Delivery $1 was not taken: status $5, why $6; it is dead ($7) or due again in $8 ms. Channel $2 is
-- free again if claim $3 still holds it, $4 ms added to the clock, and sends nothing for $9 ms.
WITH moment AS (SELECT now() + $4::bigint * interval '1 ms' AS at),
freed AS (
    UPDATE channel c
    SET lease_until = NULL,
        failures = CASE WHEN $9::bigint > 0 THEN c.failures + 1 ELSE 0 END,
        open_at = at + greatest($9::bigint * interval '1 ms', interval '1 minute' / c.rate_per_min)
    FROM moment
    WHERE c.channel_id = $2::integer AND c.lease = $3::bigint AND c.lease_until IS NOT NULL
    RETURNING c.channel_id)
UPDATE delivery d
SET state = CASE WHEN $7::boolean THEN 'dead' WHEN d.sends > 0 THEN d.state ELSE 'pending' END,
    next_at = CASE WHEN NOT $7::boolean THEN at + $8::bigint * interval '1 ms' END,
    last_status = $5::integer, last_error = $6::text
FROM freed, moment
WHERE d.delivery_id = $1::bigint
