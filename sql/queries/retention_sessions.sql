-- Sessions of more than $1 days ago with their files' entries, at most $2. Their events go with the
-- partitions, their sums stay.
WITH old AS MATERIALIZED (
    SELECT shard, session_id FROM session
    WHERE day < (now() AT TIME ZONE 'UTC')::date - $1::integer
    LIMIT $2::integer
    FOR UPDATE SKIP LOCKED),
parts AS (
    DELETE FROM session_part p USING old
    WHERE p.shard = old.shard AND p.session_id = old.session_id)
DELETE FROM session s USING old
WHERE s.shard = old.shard AND s.session_id = old.session_id
