-- How these stacks read with symbols.
SELECT hash, state, coalesce(symbols, '[]')::text AS symbols_json
FROM stack
WHERE app_id = $1::integer AND hash = ANY ($2::bytea[])
