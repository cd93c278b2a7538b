-- Rollup rows of one slice in some shards, for merging: the index's columns up to the scene are all
-- equal to something, so as many rows are read as there are days, tiers and shards. Days half-open.
SELECT sessions, excluded_sessions, slow_sessions, frames, frame_sum_us, foreground_us,
       janks_minor, janks_normal, janks_severe, jank_us, perfdog_janks, perfdog_big_janks,
       perfdog_stutter_us, missed_frames, sketch
FROM frame_rollup
WHERE shard = ANY ($1::integer[])
  AND build_id = $2::integer
  AND tier = ANY ($3::smallint[])
  AND scene = $4::text
  AND day >= coalesce($5::date, '-infinity')
  AND day < coalesce($6::date, 'infinity')
LIMIT $7::bigint
