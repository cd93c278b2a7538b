-- Sketches of all that is counted under stacks $2 of kinds $3.
SELECT c.sessions, c.installs
FROM generate_series($1::integer * 64, $1::integer * 64 + 63) AS s (shard)
CROSS JOIN unnest($2::bytea[], $3::smallint[]) AS w (hash, kind)
JOIN LATERAL (
    SELECT sessions, installs FROM stack_count
    WHERE shard = s.shard AND hash = w.hash AND kind = w.kind
    OFFSET 0) c ON true
