INSERT INTO crash (day, shard, session_id, app_id, source, crash_id, t_us, signal, reason, stack,
                   stack_hash)
SELECT DATE '2000-01-01' + $1::integer, $2::integer, $3::uuid, $4::integer, 'session',
       c.crash_id, c.t_us, c.signal, c.reason, coalesce(c.stack::jsonb -> 'frames', '[]'),
       decode(c.stack::jsonb ->> 'hash', 'hex')
FROM unnest($5::uuid[], $6::bigint[], $7::integer[], $8::text[], $9::text[])
     AS c (crash_id, t_us, signal, reason, stack)
ON CONFLICT DO NOTHING
