INSERT INTO symcache (app_id, kind, debug_id, guid, arch, format, name, source_sha256, source_bytes,
                      sha256, size, stored_bytes, version, dwarf, functions, upload_id,
                      revealed)
VALUES ($1::integer, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::bytea,
        $9::bigint, $10::bytea, $11::bigint, 0, $12::integer, $13::boolean, $14::bigint, $15::uuid,
        $16::boolean)
RETURNING symcache_id AS id
