DELETE FROM session_posted
WHERE (shard, session_id) IN (
    SELECT shard, session_id FROM session_posted
    WHERE day < (now() AT TIME ZONE 'UTC')::date - $1::integer
    LIMIT $2::integer
    FOR UPDATE SKIP LOCKED)
