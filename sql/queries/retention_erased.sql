-- Sessions of installs that asked for it in the last $1 days, at most $2, with their files, events and
-- examples, and what is kept an install. Sums over many installs stay.
WITH gone AS MATERIALIZED (
    SELECT s.shard, s.session_id, s.install_hash
    FROM erasure e
    JOIN session s ON s.app_id = e.app_id AND s.install_hash = e.install_hash
    WHERE e.asked_at >= now() - $1::integer * interval '1 day'
    LIMIT $2::integer
    FOR UPDATE OF s SKIP LOCKED),
installs AS MATERIALIZED (SELECT DISTINCT shard, install_hash FROM gone),
parts AS (
    DELETE FROM session_part p USING gone g
    WHERE p.shard = g.shard AND p.session_id = g.session_id
    RETURNING p.upload_shard, p.upload_id, p.upload_day),
chunks AS (
    DELETE FROM upload_chunk c USING parts p
    WHERE c.shard = p.upload_shard AND c.upload_id = p.upload_id AND c.day = p.upload_day),
uploads AS (
    DELETE FROM upload u USING parts p
    WHERE u.shard = p.upload_shard AND u.upload_id = p.upload_id),
janks AS (
    DELETE FROM jank_event j USING gone g
    WHERE j.shard = g.shard AND j.session_id = g.session_id),
crashes AS (
    DELETE FROM crash c USING gone g WHERE c.shard = g.shard AND c.session_id = g.session_id),
texts AS (
    DELETE FROM feedback f USING gone g WHERE f.shard = g.shard AND f.session_id = g.session_id),
posted AS (
    DELETE FROM session_posted p USING gone g
    WHERE p.shard = g.shard AND p.session_id = g.session_id),
examples AS (
    DELETE FROM stack_example x USING gone g
    WHERE x.shard = g.shard AND x.session_id = g.session_id),
windows AS (
    DELETE FROM clean_window w USING gone g
    WHERE w.shard = g.shard AND w.session_id = g.session_id),
builds AS (
    DELETE FROM install_build b USING installs i
    WHERE b.shard = i.shard AND b.install_hash = i.install_hash),
past AS (
    DELETE FROM expectation_past p USING installs i
    WHERE p.shard = i.shard AND p.install_hash = i.install_hash)
DELETE FROM session s USING gone g WHERE s.shard = g.shard AND s.session_id = g.session_id
