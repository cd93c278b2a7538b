SELECT version, body::text AS body FROM sdk_config WHERE app_id = $1::integer
