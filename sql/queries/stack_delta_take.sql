-- Some changes of tallies, oldest first; they leave the list.
WITH taken AS MATERIALIZED (
    SELECT seq FROM stack_delta WHERE app_id = $1::integer ORDER BY seq LIMIT $2::bigint),
gone AS (
    DELETE FROM stack_delta d USING taken
    WHERE d.app_id = $1::integer AND d.seq = taken.seq
    RETURNING d.*)
SELECT seq, shard, session_id, install_hash, build_id, day - DATE '2000-01-01' AS day,
       tier::bigint AS tier, model_id, sign::bigint AS sign, tally
FROM gone
ORDER BY seq
