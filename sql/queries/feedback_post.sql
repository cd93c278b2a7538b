-- Keeps posted feedback with its session; the same rules as for crashes.
INSERT INTO feedback (day, shard, session_id, feedback_id, app_id, source, t_us, category, body)
SELECT coalesce((SELECT s.day FROM session s
                 WHERE s.shard = $1::integer AND s.session_id = $2::uuid),
                (now() AT TIME ZONE 'UTC')::date),
       $1::integer, $2::uuid, $3::uuid, $4::integer, 'posted', $5::bigint, $6::text, $7::text
WHERE NOT EXISTS (SELECT FROM feedback f
                  WHERE f.shard = $1::integer AND f.session_id = $2::uuid
                    AND f.feedback_id = $3::uuid)
