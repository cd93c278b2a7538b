-- The expectation of build $1 from baseline $2 of app $3, made from $4 sessions received since $5 (us
-- since 1970; NULL: from all). $6: ms added to the clock. No row if it is frozen already.
INSERT INTO expectation (build_id, baseline_id, app_id, sessions, base_from, frozen_at)
VALUES ($1::integer, $2::integer, $3::integer, $4::bigint,
        coalesce(timestamptz 'epoch' + $5::bigint * interval '1 us', '-infinity'),
        clock_timestamp() + $6::bigint * interval '1 ms')
ON CONFLICT DO NOTHING
RETURNING build_id
