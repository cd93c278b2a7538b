-- Uploads of a batch after their operations.
UPDATE upload u
SET at           = n.at,
    length       = nullif(n.length, -1),
    state        = n.state,
    expires_at   = CASE WHEN n.renewed = 1 THEN now() + $7::bigint * interval '1 second'
                        ELSE u.expires_at END,
    completed_at = CASE WHEN n.state = 'complete' THEN coalesce(u.completed_at, now()) END
FROM unnest($1::integer[], $2::uuid[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[])
     AS n (shard, upload_id, at, length, state, renewed)
WHERE u.shard = n.shard
  AND u.upload_id = n.upload_id
