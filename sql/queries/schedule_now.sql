-- The scheduled job of kind $2 of app $1 runs as soon as a worker is free, whatever its period.
INSERT INTO job AS j (kind, shard, ref, app_id, day)
VALUES ($2::text, $1::integer * 64, '00000000-0000-0000-0000-000000000000', $1::integer,
        (now() AT TIME ZONE 'UTC')::date)
ON CONFLICT (kind, shard, ref) DO UPDATE
SET run_after = least(j.run_after, excluded.run_after),
    state = CASE WHEN j.state = 'dead' THEN 'ready' ELSE j.state END,
    attempts = CASE WHEN j.state = 'dead' THEN 0 ELSE j.attempts END
