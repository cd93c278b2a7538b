-- Stacks of a build with most events first, as a flame graph shows them (names with chr(30) between
-- them); of family $4 alone if it is given.
SELECT array_to_string(f.folded, chr(30)) AS folded, t.events, t.jank_us
FROM stack_total t
JOIN stack_family f ON f.app_id = t.app_id AND f.hash = t.hash AND f.kind = t.kind
WHERE t.app_id = $1::integer AND t.build_id = $2::integer AND t.kind = $3::smallint
  AND ($4::bytea IS NULL OR f.family = $4::bytea)
ORDER BY t.events DESC, t.hash
LIMIT $5::bigint
