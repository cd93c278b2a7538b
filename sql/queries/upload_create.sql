-- New uploads; those that exist are left alone and not returned. In key order, so that two servers
-- never wait for each other.
INSERT INTO upload (shard, upload_id, app_id, day, kind, file_id, install_hash, metadata, concat,
                    length, at, state, expires_at, completed_at)
SELECT n.shard, n.upload_id, n.app_id, (now() AT TIME ZONE 'UTC')::date, n.kind, n.file_id,
       n.install_hash, n.metadata, n.concat, nullif(n.length, -1), n.at, n.state,
       now() + $12::bigint * interval '1 second',
       CASE WHEN n.state = 'complete' THEN now() END
FROM unnest($1::integer[], $2::uuid[], $3::integer[], $4::text[], $5::text[], $6::bytea[],
            $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::text[])
     AS n (shard, upload_id, app_id, kind, file_id, install_hash, metadata, concat, length, at,
           state)
ORDER BY n.shard, n.upload_id
ON CONFLICT DO NOTHING
RETURNING shard, upload_id, day - date '2000-01-01' AS day,
          extract(epoch FROM expires_at)::bigint AS expires_s
