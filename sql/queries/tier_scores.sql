-- What the latest fit says of at most $2 device models of app $1.
SELECT model_id, capability, sd, sessions
FROM tier_score
WHERE app_id = $1::integer
ORDER BY model_id
LIMIT $2::bigint
