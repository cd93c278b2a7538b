-- All that is kept of one session, with its build and device.
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
       a.name AS app,
       s.day::text AS day,
       s.wall_start_ms,
       encode(s.install_hash, 'hex') AS install,
       s.os_version, s.sdk_version, s.analysis_version, s.bounds_version,
       s.invalid::text AS invalid_json,
       s.detail::text AS detail_json,
       jsonb_build_object(
           'id', b.build_id, 'platform', b.platform, 'version_name', b.version_name,
           'version_code', b.version_code, 'build_uid', b.build_uid, 'package', b.package,
           'git_commit', b.git_commit, 'registered', b.registered)::text AS build_json,
       jsonb_build_object(
           'model_id', m.model_id, 'manufacturer', m.manufacturer, 'model', m.model,
           'soc', m.soc, 'ram_gb', m.ram_gb, 'gpu', m.gpu, 'clusters', m.clusters,
           'screen_width_px', m.screen_width_px, 'screen_height_px', m.screen_height_px,
           'refresh_millihertz', m.refresh_millihertz, 'tier', m.tier)::text AS device_json
FROM session s
JOIN app a ON a.app_id = s.app_id
JOIN build b ON b.build_id = s.build_id
JOIN device_model m ON m.model_id = s.model_id
WHERE s.shard = $1::integer AND s.session_id = $2::uuid AND s.app_id = $3::integer
