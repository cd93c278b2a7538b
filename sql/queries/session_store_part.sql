-- Registers a file; of equal files the earliest received counts, whichever was analysed first.
INSERT INTO session_part AS p (shard, session_id, part, sha256, app_id, upload_shard, upload_id,
                               upload_day, size, truncated, damaged, received_at)
VALUES ($1::integer, $2::uuid, $3::integer, $4::bytea, $5::integer, $6::integer, $7::uuid,
        DATE '2000-01-01' + $8::integer, $9::bigint, $10::boolean, $11::boolean,
        timestamptz 'epoch' + $12::bigint * interval '1 us')
ON CONFLICT (shard, session_id, part, sha256) DO UPDATE
SET upload_shard = excluded.upload_shard, upload_id = excluded.upload_id,
    upload_day = excluded.upload_day, received_at = excluded.received_at
WHERE (excluded.upload_day, excluded.received_at, excluded.upload_id)
      < (p.upload_day, p.received_at, p.upload_id)
