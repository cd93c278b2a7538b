-- Closed uploads of sessions of installs that asked for it in the last $1 days, at most $2, with their
-- bytes. The row goes too: a file that comes again is then a new upload with its install, found here again.
WITH gone AS MATERIALIZED (
    SELECT u.shard, u.upload_id, u.day
    FROM erasure e
    JOIN upload u ON u.app_id = e.app_id AND u.install_hash = e.install_hash
    WHERE e.asked_at >= now() - $1::integer * interval '1 day'
      AND u.kind = 'session' AND u.state = 'deleted'
    LIMIT $2::integer
    FOR UPDATE OF u SKIP LOCKED),
chunks AS (
    DELETE FROM upload_chunk c USING gone g
    WHERE c.shard = g.shard AND c.upload_id = g.upload_id AND c.day = g.day)
DELETE FROM upload u USING gone g WHERE u.shard = g.shard AND u.upload_id = g.upload_id
