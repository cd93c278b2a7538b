-- The janks kept of one session; stacks: the hashes of an event's samples, one after the other.
SELECT j.start_us, j.duration_us, j.level::bigint AS level, j.from_frames, j.perfdog_jank,
       j.perfdog_big, j.scene, j.cause, j.evidence, j.hardware::text AS hardware,
       (SELECT string_agg(h, '' ORDER BY n) FROM unnest(j.stacks) WITH ORDINALITY AS u (h, n))
           AS stacks
FROM session s
JOIN jank_event j ON j.shard = s.shard AND j.session_id = s.session_id AND j.day = s.day
WHERE s.shard = $1::integer AND s.session_id = $2::uuid AND s.app_id = $3::integer
ORDER BY j.start_us
