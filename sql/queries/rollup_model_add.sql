-- Adds differences to one row.
INSERT INTO model_rollup AS m (shard, build_id, model_id, sessions, ln_p90_e6, ln_p90_sq_e6,
                               median_mhz, median_mhz_sessions, throttled_mhz,
                               throttled_mhz_sessions, mean_battery_decicelsius,
                               mean_battery_sessions)
VALUES ($1::integer, $2::integer, $3::integer, $4::bigint, $5::bigint, $6::bigint, $7::bigint,
        $8::bigint, $9::bigint, $10::bigint, $11::bigint, $12::bigint)
ON CONFLICT (shard, build_id, model_id) DO UPDATE
SET sessions = m.sessions + excluded.sessions,
    ln_p90_e6 = m.ln_p90_e6 + excluded.ln_p90_e6,
    ln_p90_sq_e6 = m.ln_p90_sq_e6 + excluded.ln_p90_sq_e6,
    median_mhz = m.median_mhz + excluded.median_mhz,
    median_mhz_sessions = m.median_mhz_sessions + excluded.median_mhz_sessions,
    throttled_mhz = m.throttled_mhz + excluded.throttled_mhz,
    throttled_mhz_sessions = m.throttled_mhz_sessions + excluded.throttled_mhz_sessions,
    mean_battery_decicelsius = m.mean_battery_decicelsius + excluded.mean_battery_decicelsius,
    mean_battery_sessions = m.mean_battery_sessions + excluded.mean_battery_sessions
