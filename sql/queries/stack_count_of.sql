-- All that is counted under one stack.
SELECT c.shard, c.build_id, c.day - DATE '2000-01-01' AS day, c.tier::bigint AS tier, c.model_id,
       c.os, c.scene, c.cause, c.events, c.jank_us, c.sessions, c.installs
FROM generate_series($1::integer * 64, $1::integer * 64 + 63) AS s (shard)
JOIN LATERAL (
    SELECT * FROM stack_count WHERE shard = s.shard AND hash = $2::bytea AND kind = $3::smallint
    OFFSET 0) c ON true
