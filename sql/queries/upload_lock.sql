-- The uploads of a batch, locked in key order.
SELECT u.shard, u.upload_id, u.app_id, u.day - date '2000-01-01' AS day, u.kind,
       CASE WHEN u.concat LIKE 'final%' THEN 'final' ELSE u.concat END AS concat,
       coalesce(u.length, -1) AS length, u.at, u.state,
       u.state = 'open' AND u.expires_at <= now() AS expired,
       extract(epoch FROM u.expires_at)::bigint AS expires_s
FROM unnest($1::integer[], $2::uuid[]) AS k (shard, upload_id)
JOIN upload u USING (shard, upload_id)
ORDER BY u.shard, u.upload_id
FOR UPDATE OF u
