-- Families of janks that a build ($2) shows more often than its baseline ($3) in one slice ($4, $5: dim
-- and value of family_count), events by session: $6 and $7 sessions. The largest rise first.
SELECT encode(n.family, 'hex') AS family, f.title, f.owner,
       n.events::float8 / greatest($6::bigint, 1) AS now,
       coalesce(o.events, 0)::float8 / greatest($7::bigint, 1) AS base, n.events
FROM family_count n
JOIN family f ON f.app_id = n.app_id AND f.family = n.family AND NOT f.ignored AND f.kind = 0
LEFT JOIN family_count o ON o.app_id = n.app_id AND o.build_id = $3::integer AND o.dim = n.dim
                        AND o.value = n.value AND o.family = n.family
WHERE n.app_id = $1::integer AND n.build_id = $2::integer AND n.dim = $4::text
  AND n.value = $5::text AND n.events >= 5
  AND n.events::float8 / greatest($6::bigint, 1)
      > 1.1 * coalesce(o.events, 0)::float8 / greatest($7::bigint, 1)
ORDER BY n.events::float8 / greatest($6::bigint, 1)
         - coalesce(o.events, 0)::float8 / greatest($7::bigint, 1) DESC, n.family
LIMIT 5
