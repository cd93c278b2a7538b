-- The rules in force (body NULL: nobody set any) and the version of rules and edits together.
SELECT coalesce((SELECT version FROM family_grouping WHERE app_id = $1::integer), 0)::bigint
           AS version,
       coalesce(r.version, 0)::bigint AS rules_version, r.body::text AS body
FROM (SELECT) AS one
LEFT JOIN LATERAL (
    SELECT version, body FROM family_rule WHERE app_id = $1::integer
    ORDER BY version DESC LIMIT 1) r ON true
