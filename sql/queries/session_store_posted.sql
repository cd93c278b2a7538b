-- What crashes posted to session $2 (locked) count under, in the order of time, those of unknown time
-- last. Managed frames are of build $4, the session's as it is known now: a stack that was posted
-- before goes among all stacks again as one of that build, to be read with its symbols. New stacks in
-- the order of their hashes, which no stack of a session's files has.
WITH posted AS MATERIALIZED (
    SELECT c.day, c.crash_id, c.t_us, c.stack, c.stack_hash,
           CASE WHEN jsonb_path_exists(c.stack, '$[*].text') THEN $4::integer END AS build_id
    FROM crash c
    WHERE c.shard = $1::integer AND c.session_id = $2::uuid AND c.app_id = $3::integer
      AND c.source = 'posted' AND c.stack <> '[]'),
hashed AS MATERIALIZED (
    SELECT p.*,
           substring(sha256(convert_to(concat('posted ', build_id, stack::text), 'UTF8')) FOR 16)
               AS hash
    FROM posted p),
added AS (
    INSERT INTO stack (app_id, hash, frames, build_id)
    SELECT DISTINCT ON (hash) $3::integer, hash, stack, build_id
    FROM hashed
    ORDER BY hash
    ON CONFLICT (app_id, hash) DO NOTHING
    RETURNING hash, frames),
needs AS (
    INSERT INTO stack_need (app_id, debug_id, hash)
    SELECT DISTINCT $3::integer, f ->> 'debug_id', added.hash
    FROM added, jsonb_array_elements(added.frames) AS f
    WHERE f ->> 'debug_id' <> ''
    ON CONFLICT DO NOTHING),
read_it AS (
    INSERT INTO job (kind, shard, ref, app_id, day)
    SELECT 'stacks', $3::integer * 64, gen_random_uuid(), $3::integer,
           (now() AT TIME ZONE 'UTC')::date
    WHERE EXISTS (SELECT FROM added)),
moved AS (
    UPDATE crash c SET stack_hash = h.hash
    FROM hashed h
    WHERE c.day = h.day AND c.shard = $1::integer AND c.session_id = $2::uuid
      AND c.crash_id = h.crash_id AND c.stack_hash IS DISTINCT FROM h.hash)
SELECT hash, t_us IS NOT NULL AS timed, coalesce(t_us, 0) AS t_us
FROM hashed
ORDER BY hashed.t_us NULLS LAST, hash
