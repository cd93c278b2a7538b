-- Examples: sessions that show a family, in its $5 largest stacks and of each in the $6 newest builds, or
-- in build $3 alone if it is given; the latest day's first, of these the longest janks. Reads as many as
-- it answers and little more: those $4 of a stack and build whose latest is the latest hold the latest
-- $4, and none of these comes after the last of the $4.
WITH head AS MATERIALIZED (
    SELECT k.hash, k.kind, t.build_id, x.day, x.duration_us
    FROM (SELECT hash, kind FROM stack_family WHERE app_id = $1::integer AND family = $2::bytea
          ORDER BY events DESC, hash LIMIT $5::bigint) AS k
    CROSS JOIN LATERAL (
        SELECT build_id FROM stack_total x
        WHERE x.app_id = $1::integer AND x.hash = k.hash AND x.kind = k.kind
          AND x.build_id >= coalesce($3::integer, 0)
          AND x.build_id <= coalesce($3::integer, 2147483647)
        ORDER BY x.build_id DESC
        LIMIT $6::bigint) t
    CROSS JOIN LATERAL (
        SELECT * FROM stack_example x
        WHERE x.app_id = $1::integer AND x.hash = k.hash AND x.kind = k.kind
          AND x.build_id = t.build_id
        ORDER BY x.day DESC, x.duration_us DESC
        LIMIT 1) x
    ORDER BY x.day DESC, x.duration_us DESC, k.hash, t.build_id
    LIMIT $4::bigint),
last AS MATERIALIZED (
    SELECT day, duration_us FROM head
    ORDER BY day DESC, duration_us DESC
    LIMIT 1 OFFSET $4::bigint - 1),
picked AS MATERIALIZED (
    SELECT e.*
    FROM head h
    CROSS JOIN LATERAL (
        SELECT * FROM stack_example x
        WHERE x.app_id = $1::integer AND x.hash = h.hash AND x.kind = h.kind
          AND x.build_id = h.build_id
          AND (x.day, x.duration_us) >= (coalesce((SELECT day FROM last), DATE '-infinity'),
                                         coalesce((SELECT duration_us FROM last), 0))
        ORDER BY x.day DESC, x.duration_us DESC
        LIMIT $4::bigint) e
    ORDER BY e.day DESC, e.duration_us DESC, e.session_id, e.start_us
    LIMIT $4::bigint)
SELECT e.session_id AS session, e.hash AS stack, e.day::text AS day, e.scene, e.cause,
       e.start_us, e.duration_us, b.platform, b.version_name, b.version_code,
       e.build_id, m.manufacturer, m.model, s.tier::bigint AS tier, s.os_version,
       s.p90_us, s.session_id IS NOT NULL AS kept
FROM picked e
JOIN build b ON b.build_id = e.build_id
LEFT JOIN session s ON s.shard = e.shard AND s.session_id = e.session_id
LEFT JOIN device_model m ON m.model_id = s.model_id
ORDER BY e.day DESC, e.duration_us DESC, e.session_id, e.start_us
