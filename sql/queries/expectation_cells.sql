-- Frozen sums of builds ($1) that speak of models ($2) in tiers ($3) in some scenes ($4); n = place in the
-- arrays, from 1.
SELECT k.kind::bigint AS kind, s.n, c.sums
FROM unnest($1::integer[], $2::integer[], $3::integer[], $4::text[])
     WITH ORDINALITY AS s (build_id, model_id, tier, scene, n)
CROSS JOIN LATERAL (VALUES (0::smallint, 0), (1::smallint, s.tier), (2::smallint, s.model_id))
           AS k (kind, id)
JOIN expectation_cell c ON c.build_id = s.build_id AND c.kind = k.kind AND c.id = k.id
                       AND c.scene = s.scene
