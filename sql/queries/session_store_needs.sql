-- The debug ids that stacks of a build name, sorted.
INSERT INTO build_need (build_id, debug_id, module, system)
SELECT $1::integer, n.debug_id, n.module, n.system <> 0
FROM unnest($2::text[], $3::text[], $4::bigint[]) AS n (debug_id, module, system)
ON CONFLICT DO NOTHING
