-- Looks at a family, newest build first; of one pair alone if $3, $4 are given.
SELECT v.build_id, v.baseline_id, v.look::bigint AS look, v.label, v.ratio::text AS ratio_json,
       v.low::text AS low_json, v.high::text AS high_json, v.phi::text AS phi_json,
       v.expected::text AS expected_json, v.events_old, v.events_new,
       v.exposure_old_us / 1000 AS foreground_old_ms, v.exposure_new_us / 1000 AS foreground_new_ms,
       to_char(v.judged_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS judged_at,
       json_build_object('id', b.build_id, 'platform', b.platform, 'version_name', b.version_name,
                         'version_code', b.version_code)::text AS build_json,
       json_build_object('id', o.build_id, 'platform', o.platform, 'version_name', o.version_name,
                         'version_code', o.version_code)::text AS baseline_json,
       v.look = max(v.look) OVER (PARTITION BY v.build_id, v.baseline_id) AS latest
FROM verdict v
JOIN build b ON b.build_id = v.build_id
JOIN build o ON o.build_id = v.baseline_id
WHERE v.app_id = $1::integer AND v.family = $2::bytea
  AND ($3::integer IS NULL OR v.build_id = $3::integer)
  AND ($4::integer IS NULL OR v.baseline_id = $4::integer)
ORDER BY b.version_code DESC, v.build_id DESC, o.version_code DESC, v.baseline_id DESC, v.look DESC
LIMIT 500
