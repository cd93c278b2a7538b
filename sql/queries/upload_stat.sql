SELECT kind, state, metadata, concat, at, coalesce(length, -1) AS length,
       extract(epoch FROM expires_at)::bigint AS expires_s,
       state = 'open' AND expires_at <= now() AS expired
FROM upload
WHERE shard = $1::integer
  AND upload_id = $2::uuid
