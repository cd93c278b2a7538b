-- Adds differences to locked rows; the sketch is the new sum, made by the caller.
UPDATE frame_rollup f
SET sessions = f.sessions + d.sessions,
    excluded_sessions = f.excluded_sessions + d.excluded_sessions,
    slow_sessions = f.slow_sessions + d.slow_sessions,
    frames = f.frames + d.frames,
    frame_sum_us = f.frame_sum_us + d.frame_sum_us,
    foreground_us = f.foreground_us + d.foreground_us,
    janks_minor = f.janks_minor + d.janks_minor,
    janks_normal = f.janks_normal + d.janks_normal,
    janks_severe = f.janks_severe + d.janks_severe,
    jank_us = f.jank_us + d.jank_us,
    perfdog_janks = f.perfdog_janks + d.perfdog_janks,
    perfdog_big_janks = f.perfdog_big_janks + d.perfdog_big_janks,
    perfdog_stutter_us = f.perfdog_stutter_us + d.perfdog_stutter_us,
    missed_frames = f.missed_frames + d.missed_frames,
    summary_sessions = f.summary_sessions + d.summary_sessions,
    summary_frames = f.summary_frames + d.summary_frames,
    summary_foreground_us = f.summary_foreground_us + d.summary_foreground_us,
    sketch = d.sketch
FROM unnest($2::integer[], $3::smallint[], $4::text[], $5::integer[], $6::bytea[],
            $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[],
            $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[],
            $18::bigint[], $19::bigint[], $20::bigint[], $21::bigint[], $22::bigint[], $23::bigint[])
     AS d (build_id, tier, scene, day, sketch,
           sessions, excluded_sessions, slow_sessions, frames, frame_sum_us, foreground_us,
           janks_minor, janks_normal, janks_severe, jank_us, perfdog_janks,
           perfdog_big_janks, perfdog_stutter_us, missed_frames, summary_sessions, summary_frames,
           summary_foreground_us)
WHERE f.shard = $1::integer AND f.build_id = d.build_id AND f.tier = d.tier AND f.scene = d.scene
  AND f.day = DATE '2000-01-01' + d.day
