-- The expectations that a session of build $1, received at $2 (us since 1970), is measured against:
-- its build's own, and those of the builds whose baseline it is (the latest few).
SELECT 1::bigint AS n, build_id, CASE WHEN build_id = $1::integer THEN 0
                      WHEN timestamptz 'epoch' + $2::bigint * interval '1 us' < frozen_at THEN 1
                      ELSE 2 END::bigint AS arm
FROM expectation
WHERE build_id = $1::integer
   OR build_id IN (SELECT build_id FROM expectation
                   WHERE baseline_id = $1::integer
                     AND base_from <= timestamptz 'epoch' + $2::bigint * interval '1 us')
ORDER BY build_id
