-- Stacks as they are grouped now and as they read, those with most events first.
SELECT f.hash, f.kind::bigint AS kind, f.platform, f.events, f.family, f.title, f.owner, f.class,
       f.ignored, s.symbols::text AS symbols, s.frames::text AS frames
FROM stack_family f
JOIN stack s ON s.app_id = f.app_id AND s.hash = f.hash
WHERE f.app_id = $1::integer
  AND ($2::bigint IS NULL OR (f.events, f.hash, f.kind) < ($2::bigint, $3::bytea, $4::smallint))
ORDER BY f.events DESC, f.hash DESC, f.kind DESC
LIMIT $5::bigint
