-- Sessions and foreground time of one slice, and whether stacks wait to be grouped or counted: the
-- stack grouped longest ago tells, found in order of the index; asked whether there is any, the
-- planner reads all stacks where none waits.
SELECT coalesce(c.events, 0) AS sessions, coalesce(c.n_installs, 0) AS installs,
       coalesce(c.jank_us, 0) AS foreground_us,
       EXISTS (SELECT FROM stack_delta WHERE app_id = $1::integer)
       OR EXISTS (SELECT FROM stack_regroup WHERE app_id = $1::integer)
       OR coalesce((SELECT grouping FROM stack_family WHERE app_id = $1::integer
                    ORDER BY grouping LIMIT 1) < $5::bigint, false) AS pending
FROM (SELECT) AS one
LEFT JOIN family_count c ON c.app_id = $1::integer AND c.build_id = $2::integer
     AND c.dim = $3::text AND c.value = $4::text AND c.family = '\x00000000000000000000000000000000'
