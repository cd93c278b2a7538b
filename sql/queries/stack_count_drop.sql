-- Of these rows the ones that came down to nothing.
DELETE FROM stack_count s
USING unnest($1::integer[], $2::bytea[], $3::smallint[], $4::integer[], $5::integer[],
             $6::smallint[], $7::integer[], $8::text[], $9::text[], $10::text[])
      AS k (shard, hash, kind, build_id, day, tier, model_id, os, scene, cause)
WHERE s.shard = k.shard AND s.hash = k.hash AND s.kind = k.kind AND s.build_id = k.build_id
  AND s.day = DATE '2000-01-01' + k.day AND s.tier = k.tier AND s.model_id = k.model_id
  AND s.os = k.os AND s.scene = k.scene AND s.cause = k.cause AND s.events = 0
