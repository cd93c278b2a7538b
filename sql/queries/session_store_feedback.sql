INSERT INTO feedback (day, shard, session_id, app_id, source, feedback_id, t_us, category, body)
SELECT DATE '2000-01-01' + $1::integer, $2::integer, $3::uuid, $4::integer, 'session',
       f.feedback_id, f.t_us, f.category, f.body
FROM unnest($5::uuid[], $6::bigint[], $7::text[], $8::text[]) AS f (feedback_id, t_us, category, body)
ON CONFLICT DO NOTHING
