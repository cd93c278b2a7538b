-- Events and time of all stacks that a flame graph is of.
SELECT coalesce(sum(c.events), 0)::bigint AS events, coalesce(sum(c.jank_us), 0)::bigint AS jank_us
FROM family_count c
JOIN family f ON f.app_id = c.app_id AND f.family = c.family
WHERE c.app_id = $1::integer AND c.build_id = $2::integer AND c.dim = 'all' AND c.value = ''
  AND f.kind = $3::smallint AND ($4::bytea IS NULL OR c.family = $4::bytea)
