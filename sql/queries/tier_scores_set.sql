-- What was found of each model; its tier is written where it changed.
WITH s AS (
    SELECT * FROM unnest($3::integer[], $4::smallint[], $5::text[], $6::text[], $7::text[],
                         $8::text[], $9::bigint[], $10::text[], $11::text[])
           AS x (model_id, tier, capability, sd, prior, weight, sessions, outside, parts)),
moved AS (
    UPDATE device_model m SET tier = s.tier
    FROM s WHERE m.model_id = s.model_id AND m.tier <> s.tier
    RETURNING m.model_id)
INSERT INTO tier_score AS t (app_id, model_id, version, tier, capability, sd, prior, weight, sessions,
                             outside, parts, changed_at)
SELECT $1::integer, s.model_id, $2::integer, s.tier, s.capability::float8, s.sd::float8,
       s.prior::float8, s.weight::float8, s.sessions, s.outside::float8, s.parts::jsonb,
       CASE WHEN m.model_id IS NOT NULL THEN now() END
FROM s LEFT JOIN moved m ON m.model_id = s.model_id
ORDER BY s.model_id
ON CONFLICT (app_id, model_id) DO UPDATE
SET version = excluded.version, tier = excluded.tier, capability = excluded.capability,
    sd = excluded.sd, prior = excluded.prior, weight = excluded.weight,
    sessions = excluded.sessions, outside = excluded.outside, parts = excluded.parts,
    scored_at = now(), changed_at = coalesce(excluded.changed_at, t.changed_at)
