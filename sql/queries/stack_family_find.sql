-- Stacks with their family; of those that have none yet, how they read. In the order of the keys.
SELECT k.hash, k.kind::bigint AS kind, f.family, b.platform,
       CASE WHEN f.family IS NULL THEN s.symbols::text END AS symbols,
       CASE WHEN f.family IS NULL THEN coalesce(s.frames, '[]')::text END AS frames
FROM unnest($2::bytea[], $3::smallint[], $4::integer[]) WITH ORDINALITY AS k (hash, kind, build_id, n)
JOIN build b ON b.build_id = k.build_id
LEFT JOIN stack_family f ON f.app_id = $1::integer AND f.hash = k.hash AND f.kind = k.kind
LEFT JOIN stack s ON s.app_id = $1::integer AND s.hash = k.hash
ORDER BY k.n
