-- A complete upload made of others. No row if there is one already.
INSERT INTO upload (shard, upload_id, app_id, day, kind, file_id, install_hash, metadata, concat,
                    length, at, state, expires_at, completed_at)
VALUES ($1::integer, $2::uuid, $3::integer, (now() AT TIME ZONE 'UTC')::date, $4::text, $5::text,
        $6::bytea, $7::text, $8::text, $9::bigint, $9::bigint, 'complete',
        now() + $10::bigint * interval '1 second', now())
ON CONFLICT DO NOTHING
