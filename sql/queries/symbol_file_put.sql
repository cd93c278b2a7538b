-- What became of an upload, as its job saw it last.
INSERT INTO symbol_file AS f (app_id, upload_id, kind, name, sha256, size, uploaded_bytes, outcome,
                              reason, detail, images)
VALUES ($1::integer, $2::uuid, $3::text, $4::text, $5::bytea, $6::bigint, $7::bigint, $8::text,
        $9::text, $10::text, $11::integer)
ON CONFLICT (app_id, upload_id) DO UPDATE
SET outcome = excluded.outcome, reason = excluded.reason, detail = excluded.detail,
    images = excluded.images, sha256 = excluded.sha256, size = excluded.size
