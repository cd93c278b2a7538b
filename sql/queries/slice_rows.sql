-- Rollup rows of one slice in some shards, for merging. One look into the index for each shard and
-- tier (OFFSET 0 keeps the planner to that): as many rows are read as there are shards, tiers and
-- days, whatever scenes and sessions there are. Days are half-open.
SELECT f.*
FROM unnest($1::integer[]) AS s (shard)
CROSS JOIN unnest($3::smallint[]) AS t (tier)
CROSS JOIN LATERAL (
    SELECT sessions, excluded_sessions, slow_sessions, frames, frame_sum_us, foreground_us,
           janks_minor, janks_normal, janks_severe, jank_us, perfdog_janks, perfdog_big_janks,
           perfdog_stutter_us, missed_frames, summary_sessions, summary_frames,
           summary_foreground_us, sketch
    FROM frame_rollup
    WHERE shard = s.shard AND build_id = $2::integer AND tier = t.tier AND scene = $4::text
      AND day >= coalesce($5::date, '-infinity') AND day < coalesce($6::date, 'infinity')
    OFFSET 0) f
LIMIT $7::bigint
