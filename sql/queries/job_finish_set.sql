-- Closes session $2 at $5 (us since 1970), unless a later part moves that on.
INSERT INTO job AS j (kind, shard, ref, app_id, day, run_after)
VALUES ('finish', $1::integer, $2::uuid, $3::integer, DATE '2000-01-01' + $4::integer,
        timestamptz 'epoch' + $5::bigint * interval '1 us')
ON CONFLICT (kind, shard, ref) DO UPDATE
SET run_after = greatest(j.run_after, excluded.run_after),
    state = CASE WHEN j.state = 'dead' THEN 'ready' ELSE j.state END,
    attempts = CASE WHEN j.state = 'dead' THEN 0 ELSE j.attempts END
