-- Offers windows of sessions without janks; in each slot the one with the least priority stays.
INSERT INTO clean_window AS w (app_id, build_id, scene, slot, priority, shard, session_id, day,
                               steps)
SELECT DISTINCT ON (k.build_id, k.scene, k.slot)
       $1::integer, k.build_id, k.scene, k.slot, k.priority, k.shard, k.session_id,
       DATE '2000-01-01' + k.day, string_to_array(k.steps, chr(30))
FROM unnest($2::integer[], $3::text[], $4::smallint[], $5::bytea[], $6::integer[], $7::uuid[],
            $8::integer[], $9::text[])
     AS k (build_id, scene, slot, priority, shard, session_id, day, steps)
ORDER BY k.build_id, k.scene, k.slot, k.priority
ON CONFLICT (app_id, build_id, scene, slot) DO UPDATE
SET priority = excluded.priority, shard = excluded.shard, session_id = excluded.session_id,
    day = excluded.day, steps = excluded.steps
WHERE excluded.priority < w.priority
