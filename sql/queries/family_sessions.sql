-- Examples: sessions that show a family, of build $3 alone if it is given; of its $5 largest stacks,
-- and of each at most $6.
SELECT e.session_id AS session, e.hash AS stack, e.day::text AS day, e.scene, e.cause,
       e.start_us, e.duration_us, b.platform, b.version_name, b.version_code,
       e.build_id, m.manufacturer, m.model, s.tier::bigint AS tier, s.os_version,
       s.p90_us, s.session_id IS NOT NULL AS kept
FROM (SELECT hash, kind FROM stack_family WHERE app_id = $1::integer AND family = $2::bytea
      ORDER BY events DESC, hash LIMIT $5::bigint) AS k
CROSS JOIN LATERAL (
    SELECT * FROM stack_example x
    WHERE x.app_id = $1::integer AND x.hash = k.hash AND x.kind = k.kind
      AND ($3::integer IS NULL OR x.build_id = $3::integer)
    ORDER BY x.build_id DESC, x.priority
    LIMIT $6::bigint) e
JOIN build b ON b.build_id = e.build_id
LEFT JOIN session s ON s.shard = e.shard AND s.session_id = e.session_id
LEFT JOIN device_model m ON m.model_id = s.model_id
ORDER BY e.day DESC, e.duration_us DESC, e.session_id, e.start_us
LIMIT $4::bigint
