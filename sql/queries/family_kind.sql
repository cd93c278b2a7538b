SELECT kind::bigint AS kind FROM family WHERE app_id = $1::integer AND family = $2::bytea
