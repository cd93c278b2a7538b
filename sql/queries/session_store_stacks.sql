-- Stacks not seen before, in the order of their hashes so that two workers never wait in a circle.
INSERT INTO stack (app_id, hash, frames)
SELECT $1::integer, s.hash, s.stack::jsonb -> 'frames'
FROM unnest($2::bytea[], $3::text[]) AS s (hash, stack)
ON CONFLICT (app_id, hash) DO NOTHING
