-- Some stacks that read differently since they were grouped; they leave the list.
WITH taken AS MATERIALIZED (
    SELECT hash FROM stack_regroup WHERE app_id = $1::integer
    ORDER BY hash
    LIMIT $2::bigint
    FOR UPDATE),
gone AS (
    DELETE FROM stack_regroup
    WHERE app_id = $1::integer AND hash = ANY (ARRAY(SELECT hash FROM taken)))
SELECT hash FROM taken ORDER BY hash
