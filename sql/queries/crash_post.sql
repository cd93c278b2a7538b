-- Keeps a posted crash with its session, on the session's day (today's while no part has arrived);
-- posted before: nothing. Its stack goes among all stacks, to be read with symbols; with managed
-- frames it is of the session's build, if that is known. A session that was counted is counted anew.
WITH s AS (
    SELECT day, build_id, state FROM session
    WHERE shard = $1::integer AND session_id = $2::uuid AND app_id = $4::integer),
new AS (
    SELECT $8::jsonb AS stack,
           CASE WHEN jsonb_path_exists($8::jsonb, '$[*].text') THEN (SELECT build_id FROM s) END
               AS build_id
    WHERE NOT EXISTS (SELECT FROM crash c
                      WHERE c.shard = $1::integer AND c.session_id = $2::uuid
                        AND c.crash_id = $3::uuid)),
hashed AS (
    SELECT stack, build_id,
           CASE WHEN stack <> '[]' THEN
               substring(sha256(convert_to(concat('posted ', build_id, stack::text), 'UTF8'))
                         FOR 16) END AS hash
    FROM new),
added AS (
    INSERT INTO stack (app_id, hash, frames, build_id)
    SELECT $4::integer, hash, stack, build_id FROM hashed WHERE hash IS NOT NULL
    ON CONFLICT (app_id, hash) DO NOTHING
    RETURNING hash, frames),
needs AS (
    INSERT INTO stack_need (app_id, debug_id, hash)
    SELECT DISTINCT $4::integer, f ->> 'debug_id', added.hash
    FROM added, jsonb_array_elements(added.frames) AS f
    WHERE f ->> 'debug_id' <> ''
    ON CONFLICT DO NOTHING),
read_it AS (
    INSERT INTO job (kind, shard, ref, app_id, day)
    SELECT 'stacks', $4::integer * 64, gen_random_uuid(), $4::integer,
           (now() AT TIME ZONE 'UTC')::date
    WHERE EXISTS (SELECT FROM added)),
count_it AS (
    INSERT INTO job AS j (kind, shard, ref, app_id, day)
    SELECT 'posted', $1::integer, $2::uuid, $4::integer, s.day
    FROM s, hashed
    WHERE s.state = 'final' AND hashed.hash IS NOT NULL
    ON CONFLICT (kind, shard, ref) DO UPDATE
    SET state = 'ready', attempts = 0, run_after = now()
    WHERE j.state = 'dead')
INSERT INTO crash (day, shard, session_id, crash_id, app_id, source, t_us, signal, reason, stack,
                   stack_hash)
SELECT coalesce((SELECT day FROM s), (now() AT TIME ZONE 'UTC')::date), $1::integer, $2::uuid,
       $3::uuid, $4::integer, 'posted', $5::bigint, $6::integer, $7::text, stack, hash
FROM hashed
