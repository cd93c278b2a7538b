DELETE FROM upload
WHERE (shard, upload_id) IN (
    SELECT shard, upload_id FROM upload
    WHERE day < (now() AT TIME ZONE 'UTC')::date - $1::integer
    LIMIT $2::integer
    FOR UPDATE SKIP LOCKED)
