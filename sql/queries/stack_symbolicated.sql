-- How stacks read with the symbols there are.
UPDATE stack s
SET state = n.state, symbols = n.symbols::jsonb
FROM unnest($2::bytea[], $3::text[], $4::text[]) AS n (hash, state, symbols)
WHERE s.app_id = $1::integer AND s.hash = n.hash
