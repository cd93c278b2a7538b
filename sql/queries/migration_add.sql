INSERT INTO schema_migration (number, name, sha256, binary_version)
VALUES ($1::integer, $2::text, $3::bytea, $4::text)
