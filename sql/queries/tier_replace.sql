-- Models $3 of app $1 stand in tiers $4 by version $2 from now on, and belong elsewhere with chance $5.
WITH s AS MATERIALIZED (
    SELECT * FROM unnest($3::integer[], $4::smallint[], $5::text[]) AS x (model_id, tier, outside)),
moved AS (
    UPDATE device_model m SET tier = s.tier
    FROM s WHERE m.model_id = s.model_id AND m.tier <> s.tier
    RETURNING m.model_id)
UPDATE tier_score t
SET version = $2::integer, tier = s.tier, outside = s.outside::float8,
    changed_at = CASE WHEN EXISTS (SELECT FROM moved v WHERE v.model_id = s.model_id) THEN now()
                      ELSE t.changed_at END
FROM s
WHERE t.app_id = $1::integer AND t.model_id = s.model_id
