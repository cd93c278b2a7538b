-- One job an upload: analyse the session part in it, or index the symbols.
INSERT INTO job (kind, shard, ref, app_id, day)
SELECT CASE n.kind WHEN 'session' THEN 'part' ELSE n.kind END, n.shard, n.ref, n.app_id,
       date '2000-01-01' + n.day
FROM unnest($1::integer[], $2::uuid[], $3::integer[], $4::integer[], $5::text[])
     AS n (shard, ref, app_id, day, kind)
ON CONFLICT DO NOTHING
