INSERT INTO stack_count (shard, hash, kind, build_id, day, tier, model_id, os, scene, cause,
                         events, jank_us, sessions, installs)
SELECT k.shard, k.hash, k.kind, k.build_id, DATE '2000-01-01' + k.day, k.tier, k.model_id, k.os,
       k.scene, k.cause, k.events, k.jank_us, k.sessions, k.installs
FROM unnest($1::integer[], $2::bytea[], $3::smallint[], $4::integer[], $5::integer[],
            $6::smallint[], $7::integer[], $8::text[], $9::text[], $10::text[], $11::bigint[],
            $12::bigint[], $13::bytea[], $14::bytea[])
     AS k (shard, hash, kind, build_id, day, tier, model_id, os, scene, cause, events, jank_us,
           sessions, installs)
ON CONFLICT (shard, hash, kind, build_id, day, tier, model_id, os, scene, cause) DO UPDATE
SET events = excluded.events, jank_us = excluded.jank_us, sessions = excluded.sessions,
    installs = excluded.installs
