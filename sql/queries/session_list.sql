-- A page of an app's sessions, newest first. Each filter may be NULL; with plan_custom the absent
-- ones vanish and the plan follows the rest.
SELECT s.session_id AS id,
       s.state,
       to_char(s.received_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS received_at,
       to_char(s.last_part_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last_part_at,
       s.build_id, b.platform, b.version_name, b.version_code,
       m.manufacturer, m.model, s.tier::bigint AS tier,
       to_json(s.scenes)::text AS scenes_json,
       s.n_parts AS parts, s.ended, s.duration_us, s.foreground_us, s.frames,
       s.p50_us, s.p90_us, s.p95_us, s.p99_us, s.max_us, s.mean_us,
       s.janks_minor, s.janks_normal, s.janks_severe, s.jank_us,
       s.perfdog_janks, s.perfdog_big_janks, s.missed_frames, s.slow_session,
       s.peak_memory_kb, s.peak_battery_millicelsius, s.throttled_us,
       s.has_crash, s.has_feedback, s.environment, s.excluded, s.from_summary,
       (extract(epoch FROM s.received_at) * 1000000)::bigint AS received_us
FROM session s
JOIN build b ON b.build_id = s.build_id
JOIN device_model m ON m.model_id = s.model_id
WHERE s.app_id = $1::integer
  AND ($2::integer IS NULL OR s.build_id = $2::integer)
  AND ($3::integer[] IS NULL OR s.build_id = ANY ($3::integer[]))
  AND ($4::integer IS NULL OR s.model_id = $4::integer)
  AND ($5::integer[] IS NULL OR s.model_id = ANY ($5::integer[]))
  AND ($6::text IS NULL OR s.scenes @> ARRAY[$6::text])
  AND ($7::bigint IS NULL
       OR s.received_at >= timestamptz 'epoch' + $7::bigint * interval '1 microsecond')
  AND ($8::bigint IS NULL
       OR s.received_at < timestamptz 'epoch' + $8::bigint * interval '1 microsecond')
  AND ($9::boolean IS NULL
       OR (s.janks_minor + s.janks_normal + s.janks_severe > 0) = $9::boolean)
  AND ($10::boolean IS NULL OR s.has_crash = $10::boolean)
  AND ($11::boolean IS NULL OR s.has_feedback = $11::boolean)
  AND ($12::boolean IS NULL OR (s.environment <> 0) = $12::boolean)
  AND ($13::boolean IS NULL OR s.excluded = $13::boolean)
  AND ($14::text IS NULL OR s.state = $14::text)
  AND ($15::bytea IS NULL OR s.install_hash = $15::bytea)
  AND ($16::bigint IS NULL OR s.p90_us >= $16::bigint)
  AND ($17::bigint IS NULL
       OR (s.received_at <= timestamptz 'epoch' + $17::bigint * interval '1 microsecond'
           AND (s.received_at < timestamptz 'epoch' + $17::bigint * interval '1 microsecond'
                OR s.session_id > $18::uuid)))
ORDER BY s.received_at DESC, s.session_id
LIMIT $19::bigint
