-- So far the sessions are measured: up to ($2 us since 1970, $3); NULL: all of them, on to the next.
UPDATE expectation
SET phase = CASE WHEN $2::bigint IS NOT NULL THEN phase
                   WHEN phase = 'own' THEN 'base' ELSE 'done' END,
    placed_at = coalesce(timestamptz 'epoch' + $2::bigint * interval '1 us', '-infinity'),
    placed_id = coalesce($3::uuid, '00000000-0000-0000-0000-000000000000')
WHERE build_id = $1::integer
