-- A family's stacks, those with most events first.
SELECT f.hash, f.kind::bigint AS kind, f.platform, f.events, f.title, f.class, s.state,
       s.symbols::text AS symbols, CASE WHEN s.symbols IS NULL THEN s.frames::text END AS frames
FROM stack_family f
JOIN stack s ON s.app_id = f.app_id AND s.hash = f.hash
WHERE f.app_id = $1::integer AND f.family = $2::bytea
  AND ($3::bigint IS NULL OR f.events < $3::bigint
       OR (f.events = $3::bigint AND f.hash > $4::bytea))
ORDER BY f.events DESC, f.hash
LIMIT $5::bigint
