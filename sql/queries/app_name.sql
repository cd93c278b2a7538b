SELECT name FROM app WHERE app_id = $1::bigint
