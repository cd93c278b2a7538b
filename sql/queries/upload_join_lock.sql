-- The partial uploads of a concatenation, kept from changing until it is made.
SELECT u.upload_id, u.at, u.state, u.concat, u.kind
FROM unnest($1::integer[], $2::uuid[]) AS k (shard, upload_id)
JOIN upload u USING (shard, upload_id)
ORDER BY u.shard, u.upload_id
FOR SHARE OF u
