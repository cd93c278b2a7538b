-- Rows of zeros where there are none yet, in key order. Of their own statement, before the lock:
-- whoever waits here waits for makers only, and whoever waits there waits for lockers only.
INSERT INTO frame_rollup (shard, build_id, tier, scene, day, sessions, excluded_sessions,
                          slow_sessions, frames, frame_sum_us, foreground_us, janks_minor,
                          janks_normal, janks_severe, jank_us, perfdog_janks, perfdog_big_janks,
                          perfdog_stutter_us, missed_frames, summary_sessions, summary_frames,
                          summary_foreground_us, sketch)
SELECT $1::integer, k.build_id, k.tier, k.scene, DATE '2000-01-01' + k.day,
       0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ''
FROM unnest($2::integer[], $3::smallint[], $4::text[], $5::integer[]) AS k (build_id, tier, scene, day)
ON CONFLICT DO NOTHING
