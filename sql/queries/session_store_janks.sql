-- Janks of one session. Stacks: the 16-byte hashes of an event's samples, one after the other.
INSERT INTO jank_event (day, shard, session_id, app_id, build_id, start_us, duration_us, level,
                        from_frames, perfdog_jank, perfdog_big, scene, cause, evidence, stacks,
                        hardware)
SELECT DATE '2000-01-01' + $1::integer, $2::integer, $3::uuid, $4::integer, $5::integer,
       e.start_us, e.duration_us, e.level, e.flags & 1 <> 0, e.flags & 2 <> 0, e.flags & 4 <> 0,
       e.scene, e.cause, e.evidence,
       ARRAY(SELECT substring(e.stacks FROM i * 16 + 1 FOR 16)
             FROM generate_series(0, length(e.stacks) / 16 - 1) AS i ORDER BY i),
       e.hardware::jsonb
FROM unnest($6::bigint[], $7::bigint[], $8::smallint[], $9::bigint[], $10::text[], $11::text[],
            $12::text[], $13::bytea[], $14::text[])
     AS e (start_us, duration_us, level, flags, scene, cause, evidence, stacks, hardware)
ON CONFLICT DO NOTHING
