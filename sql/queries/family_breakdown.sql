-- What a family's counts are made of, within build $3 (0: all): the largest $4 values of each
-- dimension, every day, and the builds; with the sessions each share is of.
SELECT c.dim, c.value, c.events, c.jank_us / 1000 AS jank_ms, c.n_sessions AS sessions,
       c.n_installs AS installs, coalesce(a.events, 0) AS of_sessions,
       CASE c.dim WHEN 'model' THEN
           (SELECT json_build_object('id', m.model_id, 'manufacturer', m.manufacturer,
                                     'model', m.model, 'soc', m.soc, 'ram_gb', m.ram_gb,
                                     'tier', m.tier)
            FROM device_model m WHERE m.model_id = c.value::integer)
       WHEN 'build' THEN
           (SELECT json_build_object('id', b.build_id, 'platform', b.platform,
                                     'version_name', b.version_name,
                                     'version_code', b.version_code, 'registered', b.registered)
            FROM build b WHERE b.build_id = c.value::integer)
       END::text AS about_json
FROM (
    SELECT x.*, row_number() OVER (PARTITION BY dim ORDER BY n_sessions DESC, value) AS n
    FROM (SELECT dim, value, events, jank_us, n_sessions, n_installs, dim AS base_dim,
                 value AS base_value, build_id AS base_build
          FROM family_count
          WHERE app_id = $1::integer AND family = $2::bytea AND build_id = $3::integer
            AND dim <> 'g' AND dim <> 'all'
          UNION ALL
          SELECT 'build', build_id::text, events, jank_us, n_sessions, n_installs, 'all', '',
                 build_id
          FROM family_count
          WHERE app_id = $1::integer AND family = $2::bytea AND build_id <> 0
            AND dim = 'all') AS x) AS c
LEFT JOIN family_count a ON a.app_id = $1::integer AND a.build_id = c.base_build
     AND a.dim = c.base_dim AND a.value = c.base_value
     AND a.family = '\x00000000000000000000000000000000'
WHERE c.n <= $4::bigint OR c.dim = 'day'
ORDER BY c.dim, CASE c.dim WHEN 'day' THEN c.value END, c.n
