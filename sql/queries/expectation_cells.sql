-- Frozen sums that speak of a model ($2) in a tier ($3) in some scenes ($4).
SELECT c.kind::bigint AS kind, s.n, c.sums
FROM unnest($4::text[]) WITH ORDINALITY AS s (scene, n)
CROSS JOIN (VALUES (0::smallint, 0), (1::smallint, $3::integer), (2::smallint, $2::integer))
           AS k (kind, id)
JOIN expectation_cell c ON c.build_id = $1::integer AND c.kind = k.kind AND c.id = k.id
                       AND c.scene = s.scene
