INSERT INTO stack_total AS t (app_id, hash, kind, build_id, events, jank_us)
SELECT $1::integer, k.hash, k.kind, k.build_id, sum(k.events), sum(k.jank_us)
FROM unnest($2::bytea[], $3::smallint[], $4::integer[], $5::bigint[], $6::bigint[])
     AS k (hash, kind, build_id, events, jank_us)
GROUP BY k.hash, k.kind, k.build_id
ON CONFLICT (app_id, hash, kind, build_id) DO UPDATE
SET events = t.events + excluded.events, jank_us = t.jank_us + excluded.jank_us
