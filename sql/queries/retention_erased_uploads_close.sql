-- Uploads of sessions of installs that asked for it in the last $1 days, and what they were joined of,
-- are closed to further bytes, at most $2 of the former. Their bytes go by the next statement alone: only
-- a later one is sure to see all that was written before the lock was had.
WITH gone AS MATERIALIZED (
    SELECT u.shard, u.upload_id, u.app_id, u.install_hash, u.concat
    FROM erasure e
    JOIN upload u ON u.app_id = e.app_id AND u.install_hash = e.install_hash
    WHERE e.asked_at >= now() - $1::integer * interval '1 day'
      AND u.kind = 'session' AND u.state <> 'deleted'
    LIMIT $2::integer
    FOR UPDATE OF u SKIP LOCKED),
named AS MATERIALIZED (
    SELECT g.app_id, g.install_hash, m.id[1] AS id
    FROM gone g
    CROSS JOIN LATERAL regexp_matches(g.concat, '/v1/uploads/([0-9a-f]{32})', 'g') AS m (id)
    WHERE g.concat LIKE 'final;%'),
parts AS MATERIALIZED (
    SELECT p.shard, p.upload_id, n.install_hash
    FROM named n
    JOIN upload p ON p.shard = n.app_id * 64 + (get_byte(decode(n.id, 'hex'), 15) & 63)
                 AND p.upload_id = n.id::uuid
    WHERE p.state <> 'deleted' AND p.concat = 'partial'
    FOR UPDATE OF p SKIP LOCKED)
UPDATE upload u
SET state = 'deleted', install_hash = t.install_hash
FROM (SELECT DISTINCT ON (a.shard, a.upload_id) a.*
      FROM (SELECT shard, upload_id, install_hash FROM gone
            UNION ALL SELECT shard, upload_id, install_hash FROM parts) AS a) AS t
WHERE u.shard = t.shard AND u.upload_id = t.upload_id
