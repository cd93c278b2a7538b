-- Stacks with most events, by build: what kin are looked for among.
SELECT f.hash, f.kind::bigint AS kind, f.platform, s.symbols::text AS symbols,
       CASE WHEN s.symbols IS NULL THEN s.frames::text END AS frames, t.build_id, t.events
FROM (SELECT hash, kind, platform FROM stack_family
      WHERE app_id = $1::integer AND kind = $2::smallint
      ORDER BY events DESC, hash
      LIMIT $3::bigint OFFSET $4::bigint) AS f
JOIN stack s ON s.app_id = $1::integer AND s.hash = f.hash
JOIN stack_total t ON t.app_id = $1::integer AND t.hash = f.hash AND t.kind = f.kind
