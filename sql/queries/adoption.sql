-- Sessions a day of the newest builds of a build's platform, itself among them. One look into the index for
-- each build, shard and tier (OFFSET 0 keeps the planner to that), whatever scenes and sessions there are.
SELECT b.build_id, b.platform, b.version_name, b.version_code, b.registered,
       coalesce(json_agg(json_build_object('day', to_char(d.day, 'YYYY-MM-DD'), 'sessions', d.sessions)
                         ORDER BY d.day) FILTER (WHERE d.sessions > 0), '[]')::text AS days_json
FROM (SELECT *
      FROM build
      WHERE app_id = $1::integer
        AND platform = (SELECT platform FROM build WHERE app_id = $1::integer AND build_id = $2::integer)
      ORDER BY (build_id = $2::integer) DESC, version_code DESC, build_id DESC
      LIMIT $5::bigint) b
LEFT JOIN LATERAL (
    SELECT f.day, sum(f.sessions)::bigint AS sessions
    FROM generate_series($1::integer * 64, $1::integer * 64 + 63) AS s (shard)
    CROSS JOIN generate_series(0, 9) AS t (tier)
    CROSS JOIN LATERAL (
        SELECT day, sessions
        FROM frame_rollup
        WHERE shard = s.shard AND build_id = b.build_id AND tier = t.tier AND scene = ''
          AND day >= coalesce($4::date, current_date + 1) - $3::integer
          AND day < coalesce($4::date, current_date + 1)
        OFFSET 0) f
    GROUP BY f.day) d ON true
GROUP BY b.build_id, b.platform, b.version_name, b.version_code, b.registered
ORDER BY b.version_code DESC, b.build_id DESC
