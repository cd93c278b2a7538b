-- The stacks that the janks kept of one session name.
SELECT t.hash, t.frames::text AS frames
FROM stack t
WHERE t.app_id = $3::integer AND t.hash IN (
    SELECT u.h
    FROM session s
    JOIN jank_event j ON j.shard = s.shard AND j.session_id = s.session_id AND j.day = s.day,
    unnest(j.stacks) AS u (h)
    WHERE s.shard = $1::integer AND s.session_id = $2::uuid AND s.app_id = $3::integer)
ORDER BY t.hash
