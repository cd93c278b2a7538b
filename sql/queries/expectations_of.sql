-- The expectations that sessions of builds ($1), received at $2 (us since 1970), are measured against:
-- their build's own, and those of the builds whose baseline it is (the latest few). n = place in the
-- arrays, from 1.
SELECT k.n, e.build_id, e.arm::bigint AS arm
FROM unnest($1::integer[], $2::bigint[]) WITH ORDINALITY AS k (build_id, received_us, n)
CROSS JOIN LATERAL (
    SELECT o.build_id, 0 AS arm FROM expectation o WHERE o.build_id = k.build_id
    UNION ALL
    SELECT b.build_id, CASE WHEN timestamptz 'epoch' + k.received_us * interval '1 us' < b.frozen_at
                            THEN 1 ELSE 2 END
    FROM expectation b
    WHERE b.baseline_id = k.build_id AND b.build_id <> k.build_id
      AND b.base_from <= timestamptz 'epoch' + k.received_us * interval '1 us') e
ORDER BY k.n, e.build_id
