-- What the ticket of family $2 tells of each platform: the last look at its newest build that was
-- judged.
SELECT DISTINCT ON (b.platform) b.platform, v.build_id::bigint AS build_id,
       v.baseline_id::bigint AS baseline_id, v.label,
       b.version_name || ' (' || b.version_code || ')' AS build,
       o.version_name || ' (' || o.version_code || ')' AS baseline,
       coalesce(round(v.ratio::numeric, 3)::text, 'infinite') AS ratio,
       round(v.low::numeric, 3)::text AS low,
       coalesce(round(v.high::numeric, 3)::text, 'infinite') AS high, v.events_new,
       round(v.expected::numeric, 1)::text AS expected
FROM verdict v
JOIN build b ON b.build_id = v.build_id
JOIN build o ON o.build_id = v.baseline_id
WHERE v.app_id = $1::integer AND v.family = $2::bytea
ORDER BY b.platform, b.version_code DESC, v.build_id DESC, v.judged_at DESC, v.baseline_id DESC, v.look DESC
