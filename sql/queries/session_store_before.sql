-- A session as it was analysed last, locked.
SELECT state = 'final' AS final, day - DATE '2000-01-01' AS day, build_id, model_id,
       tier::bigint AS tier, analysis_version, bounds_version, contribution,
       tally, install_hash, files
FROM session
WHERE shard = $1::integer AND session_id = $2::uuid
FOR UPDATE
