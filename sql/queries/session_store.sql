-- A session as analysed now, in place of what was there. Crashes and feedback posted to it count
-- beside those in its parts.
INSERT INTO session (
    shard, session_id, app_id, day, build_id, model_id, tier, install_hash, state, wall_start_ms,
    received_at, last_part_at, analysis_version, bounds_version, n_parts, ended, duration_us,
    environment, excluded, from_summary, os_version, sdk_version, scenes, frames, foreground_us,
    p50_us, p90_us, p95_us, p99_us, max_us, mean_us, janks_minor, janks_normal, janks_severe,
    jank_us, perfdog_janks, perfdog_big_janks, missed_frames, slow_session, peak_memory_kb,
    peak_battery_millicelsius, throttled_us, invalid, detail, contribution, has_crash,
    has_feedback, files, tally)
SELECT
    $1::integer, $2::uuid, $3::integer, DATE '2000-01-01' + $4::integer, $5::integer,
    $6::integer, $7::smallint, $8::bytea, $9::text, $10::bigint,
    timestamptz 'epoch' + $11::bigint * interval '1 us',
    timestamptz 'epoch' + $12::bigint * interval '1 us', $13::integer, $14::integer,
    $15::integer, $16::boolean, $17::bigint, $18::integer, $19::boolean, $20::boolean, $21::text,
    $22::text, $23::text[], $24::bigint, $25::bigint, $26::bigint, $27::bigint, $28::bigint,
    $29::bigint, $30::bigint, $31::bigint, $32::integer, $33::integer, $34::integer, $35::bigint,
    $36::integer, $37::integer, $38::bigint, $39::boolean, $40::bigint, $41::integer,
    $42::bigint, $43::jsonb, $44::jsonb, $45::bytea, $46::boolean OR coalesce(p.crash, false),
    $47::boolean OR coalesce(p.feedback, false), $48::integer, $49::bytea
FROM (SELECT) AS one
LEFT JOIN session_posted p ON p.shard = $1::integer AND p.session_id = $2::uuid
ON CONFLICT (shard, session_id) DO UPDATE SET
    day = excluded.day, build_id = excluded.build_id, model_id = excluded.model_id,
    tier = excluded.tier, install_hash = excluded.install_hash, state = excluded.state,
    wall_start_ms = excluded.wall_start_ms, received_at = excluded.received_at,
    last_part_at = excluded.last_part_at, analysis_version = excluded.analysis_version,
    bounds_version = excluded.bounds_version, n_parts = excluded.n_parts, ended = excluded.ended,
    duration_us = excluded.duration_us, environment = excluded.environment,
    excluded = excluded.excluded, from_summary = excluded.from_summary,
    os_version = excluded.os_version, sdk_version = excluded.sdk_version,
    scenes = excluded.scenes, frames = excluded.frames, foreground_us = excluded.foreground_us,
    p50_us = excluded.p50_us, p90_us = excluded.p90_us, p95_us = excluded.p95_us,
    p99_us = excluded.p99_us, max_us = excluded.max_us, mean_us = excluded.mean_us,
    janks_minor = excluded.janks_minor, janks_normal = excluded.janks_normal,
    janks_severe = excluded.janks_severe, jank_us = excluded.jank_us,
    perfdog_janks = excluded.perfdog_janks, perfdog_big_janks = excluded.perfdog_big_janks,
    missed_frames = excluded.missed_frames, slow_session = excluded.slow_session,
    peak_memory_kb = excluded.peak_memory_kb,
    peak_battery_millicelsius = excluded.peak_battery_millicelsius,
    throttled_us = excluded.throttled_us, invalid = excluded.invalid, detail = excluded.detail,
    contribution = excluded.contribution, has_crash = excluded.has_crash,
    has_feedback = excluded.has_feedback, files = excluded.files,
    tally = excluded.tally
