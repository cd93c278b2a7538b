SELECT number, name, sha256 FROM schema_migration ORDER BY number
