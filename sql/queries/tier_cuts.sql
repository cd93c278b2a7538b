-- The cuts of app $1 that hold, the fastest first.
SELECT c.version::bigint AS version, c.ms
FROM tier_cut c
WHERE c.app_id = $1::integer
  AND c.version = (SELECT max(version) FROM tier_model WHERE app_id = $1::integer)
ORDER BY c.tier
