-- What is kept of single installs of app $1 goes with the last session of their build, $2 days after the
-- build was made known at the earliest; sums over installs stay.
WITH old AS MATERIALIZED (
    SELECT b.build_id FROM build b
    WHERE b.app_id = $1::integer AND b.created_at < now() - $2::bigint * interval '1 day'
      AND NOT EXISTS (SELECT FROM session s WHERE s.build_id = b.build_id)),
pasts AS (DELETE FROM expectation_past p USING old WHERE p.build_id = old.build_id)
DELETE FROM install_build i
USING old, generate_series($1::integer * 64, $1::integer * 64 + 63) AS g (shard)
WHERE i.shard = g.shard AND i.build_id = old.build_id
