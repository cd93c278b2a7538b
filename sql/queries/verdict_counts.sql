-- Events by install group of the families whose events in the old build $3 lead to expect at least $4
-- in the new one $2, and of all sessions (their time is the exposure). By family.
WITH base AS (
    SELECT coalesce(max(jank_us) FILTER (WHERE build_id = $2::integer), 0)::float8 AS new_us,
           coalesce(max(jank_us) FILTER (WHERE build_id = $3::integer), 0)::float8 AS old_us
    FROM family_count
    WHERE app_id = $1::integer AND build_id IN ($2::integer, $3::integer) AND dim = 'all'
      AND value = '' AND family = '\x00000000000000000000000000000000'),
wanted AS (
    SELECT c.family FROM family_count c, base
    WHERE c.app_id = $1::integer AND c.build_id = $3::integer AND c.dim = 'all' AND c.value = ''
      AND c.events * base.new_us >= $4::float8 * base.old_us AND base.old_us > 0
      AND ($5::bytea IS NULL OR c.family = $5::bytea)
    UNION SELECT '\x00000000000000000000000000000000'::bytea)
SELECT w.family, c.build_id = $2::integer AS new, c.value::bigint AS g, c.events, c.jank_us,
       coalesce((SELECT max(v.look) FROM verdict v
                 WHERE v.app_id = $1::integer AND v.family = w.family
                   AND v.build_id = $2::integer AND v.baseline_id = $3::integer), 0)::bigint AS looks
FROM wanted w
CROSS JOIN LATERAL (
    SELECT build_id, value, events, jank_us FROM family_count
    WHERE app_id = $1::integer AND family = w.family AND dim = 'g'
      AND build_id IN ($2::integer, $3::integer)
    OFFSET 0) c
ORDER BY w.family
