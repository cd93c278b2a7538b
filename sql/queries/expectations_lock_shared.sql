-- Sessions of these builds are counted: no expectation is frozen meanwhile that concerns them.
SELECT build_lock_shared(b.build_id)::text AS locked
FROM unnest($1::integer[]) AS b (build_id)
