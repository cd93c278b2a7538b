-- Uploads still open whose bytes are past retention ($1 days): nothing can complete them. At most $2.
UPDATE upload SET state = 'deleted'
WHERE state = 'open' AND (shard, upload_id) IN (
    SELECT shard, upload_id FROM upload
    WHERE state = 'open' AND day < (now() AT TIME ZONE 'UTC')::date - $1::integer
    LIMIT $2::integer
    FOR UPDATE SKIP LOCKED)
