-- The latest sessions of build $1, at most $2: how many there are, with invalid values, with a clock
-- that was wrong, flagged, with a crash.
SELECT count(*) AS sessions,
       count(*) FILTER (WHERE invalid <> '{}') AS invalid,
       count(*) FILTER (WHERE invalid ? 'clock_skew') AS clock_skew,
       count(*) FILTER (WHERE environment <> 0) AS flagged,
       count(*) FILTER (WHERE has_crash) AS crashed
FROM (SELECT invalid, environment, has_crash FROM session WHERE build_id = $1::integer
      ORDER BY received_at DESC, session_id LIMIT $2::bigint) s
