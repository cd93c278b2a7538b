-- What rows of stack_count hold, in the order of their keys; zeros where there is none.
SELECT coalesce(c.events, 0) AS events, coalesce(c.jank_us, 0) AS jank_us,
       coalesce(c.sessions, '') AS sessions, coalesce(c.installs, '') AS installs
FROM unnest($1::integer[], $2::bytea[], $3::smallint[], $4::integer[], $5::integer[],
            $6::smallint[], $7::integer[], $8::text[], $9::text[], $10::text[])
     WITH ORDINALITY AS k (shard, hash, kind, build_id, day, tier, model_id, os, scene, cause, n)
LEFT JOIN LATERAL (
    SELECT s.events, s.jank_us, s.sessions, s.installs FROM stack_count s
    WHERE s.shard = k.shard AND s.hash = k.hash AND s.kind = k.kind AND s.build_id = k.build_id
      AND s.day = DATE '2000-01-01' + k.day AND s.tier = k.tier AND s.model_id = k.model_id
      AND s.os = k.os AND s.scene = k.scene AND s.cause = k.cause
    OFFSET 0) c ON true
ORDER BY k.n
