-- A page of an app's device models with what put each into its tier, the latest met first.
SELECT d.model_id AS id, d.platform, d.manufacturer, d.model, d.soc, d.ram_gb, d.gpu,
       d.tier::bigint AS tier, s.capability, s.sd, s.prior, s.weight, s.outside,
       coalesce(s.sessions, 0) AS sessions, coalesce(s.parts, '{}')::text AS parts_json,
       s.model_id IS NOT NULL AS scored,
       to_char(s.changed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS changed_at
FROM device_model d
LEFT JOIN tier_score s ON s.app_id = d.app_id AND s.model_id = d.model_id
WHERE d.app_id = $1::integer
  AND ($2::bigint IS NULL OR d.tier = $2::bigint)
  AND ($3::text IS NULL OR strpos(lower(d.manufacturer || ' ' || d.model || ' ' || d.soc),
                                  lower($3::text)) > 0)
  AND ($4::bigint IS NULL OR d.model_id < $4::bigint)
ORDER BY d.model_id DESC
LIMIT $5::bigint
