-- Whether job $1 is to wait until it is $2 ms old ($5 ms added to the clock), because fewer than $4
-- changes of tallies wait with it; and that moment (us since 1970).
SELECT j.created_at + $2::bigint * interval '1 ms' > now() + $5::bigint * interval '1 ms'
       AND (SELECT count(*) FROM (SELECT FROM stack_delta WHERE app_id = $3::integer
                                  LIMIT $4::bigint) AS waiting) < $4::bigint AS early,
       (extract(epoch FROM j.created_at + $2::bigint * interval '1 ms') * 1000000)::bigint AS due_us
FROM job j
WHERE j.job_id = $1::bigint
