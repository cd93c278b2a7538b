-- Grouped ones among these stacks, as they read now.
SELECT f.hash, f.kind::bigint AS kind, f.family, f.platform, s.symbols::text AS symbols,
       CASE WHEN s.symbols IS NULL THEN s.frames::text END AS frames
FROM stack_family f
JOIN stack s ON s.app_id = f.app_id AND s.hash = f.hash
WHERE f.app_id = $1::integer AND f.hash = ANY ($2::bytea[])
ORDER BY f.hash, f.kind
