-- Queues one job for each app and kind whose period is over: $1 kinds, $2 their periods in ms, $3 ms
-- added to the clock. The row of schedule_run decides between workers that look at the same moment. A
-- job still waiting or running stays as it is; one that died for good gets another life.
WITH clock AS (SELECT now() + $3::bigint * interval '1 ms' AS at),
due AS (
    INSERT INTO schedule_run AS r (app_id, kind, queued_at)
    SELECT a.app_id, k.kind, c.at
    FROM clock c, app a, unnest($1::text[], $2::bigint[]) AS k (kind, period_ms)
    WHERE NOT EXISTS (
        SELECT FROM schedule_run s
        WHERE s.app_id = a.app_id AND s.kind = k.kind
          AND s.queued_at > c.at - k.period_ms * interval '1 ms')
    ORDER BY a.app_id, k.kind
    ON CONFLICT (app_id, kind) DO UPDATE SET queued_at = excluded.queued_at
    WHERE r.queued_at <= excluded.queued_at - interval '1 ms' * (
        SELECT p.period_ms FROM unnest($1::text[], $2::bigint[]) AS p (kind, period_ms)
        WHERE p.kind = r.kind)
    RETURNING app_id, kind)
INSERT INTO job AS j (kind, shard, ref, app_id, day, run_after)
SELECT d.kind, d.app_id * 64, '00000000-0000-0000-0000-000000000000', d.app_id,
       (c.at AT TIME ZONE 'UTC')::date, c.at
FROM due d, clock c
ON CONFLICT (kind, shard, ref) DO UPDATE
SET state = 'ready', attempts = 0, run_after = excluded.run_after, lease_until = NULL
WHERE j.state = 'dead'
