-- Channel $1 is free again if claim $2 still holds it: $3 ms added to the clock, nothing for $4 ms.
UPDATE channel c
SET lease_until = NULL,
    open_at = now() + $3::bigint * interval '1 ms'
              + greatest($4::bigint * interval '1 ms', interval '1 minute' / c.rate_per_min)
WHERE c.channel_id = $1::integer AND c.lease = $2::bigint AND c.lease_until IS NOT NULL
