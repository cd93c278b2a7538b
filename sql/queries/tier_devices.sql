-- Device models of app $1 with what is known of them (0: unknown), a catalogue filling in, and their
-- sessions on baseline builds: those that some build is compared with; before there is one, the
-- registered ones; before those, all.
WITH compared AS (SELECT DISTINCT baseline_id AS build_id FROM expectation WHERE app_id = $1::integer),
registered AS (SELECT build_id FROM build WHERE app_id = $1::integer AND registered),
chosen AS (
    SELECT build_id FROM compared
    UNION SELECT build_id FROM registered WHERE NOT EXISTS (SELECT FROM compared)
    UNION SELECT build_id FROM build
          WHERE app_id = $1::integer AND NOT EXISTS (SELECT FROM compared)
            AND NOT EXISTS (SELECT FROM registered)),
played AS (
    SELECT r.model_id, sum(r.sessions)::bigint AS n, sum(r.ln_p90_e6)::bigint AS sum_e6,
           sum(r.ln_p90_sq_e6)::bigint AS sum_sq_e6, sum(r.median_mhz)::float8 AS median_mhz,
           sum(r.median_mhz_sessions)::float8 AS median_n,
           sum(r.throttled_mhz)::float8 AS throttled_mhz,
           sum(r.throttled_mhz_sessions)::float8 AS throttled_n,
           sum(r.mean_battery_decicelsius)::float8 AS battery,
           sum(r.mean_battery_sessions)::float8 AS battery_n
    FROM model_rollup r
    WHERE r.shard BETWEEN $1::integer * 64 AND $1::integer * 64 + 63
      AND r.build_id IN (SELECT build_id FROM chosen)
    GROUP BY r.model_id)
SELECT m.model_id AS id, coalesce(nullif(m.soc, ''), c.soc, '') AS soc, m.tier::bigint AS tier,
       coalesce(nullif(k.max_khz, 0), c.max_khz, 0)::float8 AS max_khz,
       coalesce(nullif(k.fast_cores, 0), c.fast_cores, 0)::float8 AS fast_cores,
       coalesce(nullif(k.cores, 0), c.cores, 0)::float8 AS cores,
       coalesce(nullif(k.clusters, 0), c.clusters, 0)::float8 AS clusters,
       coalesce(nullif(m.ram_gb, 0) * 1024, c.ram_mb, 0)::float8 AS ram_mb,
       coalesce(nullif(m.screen_width_px::bigint * m.screen_height_px, 0),
                c.width_px::bigint * c.height_px, 0)::float8 AS pixels,
       coalesce(1000 * p.median_mhz / nullif(p.median_n, 0), 0) AS median_khz,
       coalesce(1000 * p.throttled_mhz / nullif(p.throttled_n, 0), 0) AS throttled_khz,
       coalesce(p.battery / nullif(p.battery_n, 0) / 10, 0) AS temperature,
       coalesce(p.n, 0) AS n, coalesce(p.sum_e6, 0) AS sum_e6, coalesce(p.sum_sq_e6, 0) AS sum_sq_e6
FROM device_model m
LEFT JOIN device_catalogue c ON c.app_id = m.app_id AND c.manufacturer = lower(m.manufacturer)
                            AND c.model = m.model
LEFT JOIN played p ON p.model_id = m.model_id
CROSS JOIN LATERAL (
    SELECT coalesce(max((e ->> 'max_khz')::bigint), 0) AS max_khz,
           coalesce(sum((e ->> 'cores')::bigint), 0) AS cores, count(*) AS clusters,
           coalesce((array_agg((e ->> 'cores')::bigint
                               ORDER BY (e ->> 'max_khz')::bigint DESC))[1], 0) AS fast_cores
    FROM jsonb_array_elements(m.clusters) AS e) k
WHERE m.app_id = $1::integer
ORDER BY m.model_id
LIMIT $2::bigint
