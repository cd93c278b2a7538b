SELECT count(*) AS n FROM family WHERE app_id = $1::integer AND family = $2::bytea
