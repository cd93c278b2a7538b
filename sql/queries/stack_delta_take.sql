-- Some changes of tallies, oldest first: at most $2, of at most $3 bytes together unless the first one
-- has more. They leave the list. By ctid, which stays: rows are added and deleted, never changed.
WITH gone AS (
    DELETE FROM stack_delta
    WHERE ctid = ANY (ARRAY(
        SELECT place
        FROM (SELECT place, sum(bytes) OVER (ORDER BY seq) AS bytes,
                     row_number() OVER (ORDER BY seq) AS n
              FROM (SELECT ctid AS place, seq, length(tally) AS bytes FROM stack_delta
                    WHERE app_id = $1::integer ORDER BY seq LIMIT $2::bigint) AS first) AS summed
        WHERE bytes <= $3::bigint OR n = 1))
    RETURNING *)
SELECT seq, shard, session_id, install_hash, build_id, day - DATE '2000-01-01' AS day,
       tier::bigint AS tier, model_id, sign::bigint AS sign, tally
FROM gone
ORDER BY seq
