-- Offers examples; in each slot the one with the least priority stays. steps: names with chr(30)
-- between them, NULL for none.
INSERT INTO stack_example AS e (app_id, hash, kind, build_id, slot, priority, shard, session_id,
                                day, scene, cause, start_us, duration_us, steps)
SELECT DISTINCT ON (k.hash, k.kind, k.build_id, k.slot)
       $1::integer, k.hash, k.kind, k.build_id, k.slot, k.priority, k.shard, k.session_id,
       DATE '2000-01-01' + k.day, k.scene, k.cause, k.start_us, k.duration_us,
       string_to_array(k.steps, chr(30))
FROM unnest($2::bytea[], $3::smallint[], $4::integer[], $5::smallint[], $6::bytea[], $7::integer[],
            $8::uuid[], $9::integer[], $10::text[], $11::text[], $12::bigint[], $13::bigint[],
            $14::text[])
     AS k (hash, kind, build_id, slot, priority, shard, session_id, day, scene, cause, start_us,
           duration_us, steps)
ORDER BY k.hash, k.kind, k.build_id, k.slot, k.priority
ON CONFLICT (app_id, hash, kind, build_id, slot) DO UPDATE
SET priority = excluded.priority, shard = excluded.shard, session_id = excluded.session_id,
    day = excluded.day, scene = excluded.scene, cause = excluded.cause,
    start_us = excluded.start_us, duration_us = excluded.duration_us, steps = excluded.steps
WHERE excluded.priority < e.priority
