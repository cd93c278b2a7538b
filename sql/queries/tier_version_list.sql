-- A page of the versions of app $1's cuts, the latest first. cuts_json: the bounds between tiers, in ms.
SELECT m.version::bigint AS version, m.tiers::bigint AS tiers,
       to_char(m.placed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS placed_at,
       m.placed_by, m.note,
       (SELECT coalesce(jsonb_agg(c.ms ORDER BY c.tier), '[]')::text FROM tier_cut c
        WHERE c.app_id = m.app_id AND c.version = m.version) AS cuts_json
FROM tier_model m
WHERE m.app_id = $1::integer AND ($2::bigint IS NULL OR m.version < $2::bigint)
ORDER BY m.version DESC
LIMIT $3::bigint
