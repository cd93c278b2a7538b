-- Keeps a posted crash with its session, on the session's day (today's while no part has arrived);
-- posted before: nothing.
INSERT INTO crash (day, shard, session_id, crash_id, app_id, source, t_us, signal, reason, stack)
SELECT coalesce((SELECT s.day FROM session s
                 WHERE s.shard = $1::integer AND s.session_id = $2::uuid),
                (now() AT TIME ZONE 'UTC')::date),
       $1::integer, $2::uuid, $3::uuid, $4::integer, 'posted', $5::bigint, $6::integer, $7::text,
       $8::jsonb
WHERE NOT EXISTS (SELECT FROM crash c
                  WHERE c.shard = $1::integer AND c.session_id = $2::uuid
                    AND c.crash_id = $3::uuid)
