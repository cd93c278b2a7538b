-- Its pieces are there: how long they are; and its stacks are to be read again.
WITH sized AS (
    UPDATE symcache
    SET stored_bytes = (SELECT coalesce(sum(length(bytes)), 0) FROM symcache_piece
                        WHERE symcache_id = $1::uuid)
    WHERE symcache_id = $1::uuid
    RETURNING app_id)
INSERT INTO job (kind, shard, ref, app_id, day)
SELECT 'restack', app_id * 64, $1::uuid, app_id, (now() AT TIME ZONE 'UTC')::date
FROM sized
ON CONFLICT (kind, shard, ref) DO UPDATE
SET state = 'ready', attempts = 0, run_after = now(), lease_until = NULL
