-- Stacks not seen before, in the order of their hashes so that two workers never wait in a circle;
-- which debug ids they name; and if there are any, a job that reads them with symbols. $4: whether a
-- stack has managed frames; $5: the build these belong to, NULL if not known.
WITH added AS (
    INSERT INTO stack (app_id, hash, frames, build_id)
    SELECT $1::integer, s.hash, s.stack::jsonb -> 'frames',
           CASE WHEN s.managed <> 0 THEN $5::integer END
    FROM unnest($2::bytea[], $3::text[], $4::bigint[]) AS s (hash, stack, managed)
    ON CONFLICT (app_id, hash) DO NOTHING
    RETURNING hash, frames),
needs AS (
    INSERT INTO stack_need (app_id, debug_id, hash)
    SELECT DISTINCT $1::integer, f ->> 'debug_id', added.hash
    FROM added, jsonb_array_elements(added.frames) AS f
    WHERE f ->> 'debug_id' <> ''
    ON CONFLICT DO NOTHING)
INSERT INTO job (kind, shard, ref, app_id, day)
SELECT 'stacks', $1::integer * 64, gen_random_uuid(), $1::integer,
       (now() AT TIME ZONE 'UTC')::date
WHERE EXISTS (SELECT FROM added)
