-- What a merge or split of family $2 meets. depth: the greatest one whose fingerprints its stacks
-- have as their key, 0 if it is known by merges alone; parts: how many families a split at $3 makes.
SELECT coalesce((SELECT f.kind FROM family f WHERE f.app_id = $1::integer AND f.family = $2::bytea),
                -1)::bigint AS kind,
       coalesce(max(array_position(s.prints, $2::bytea)), 0)::bigint AS depth,
       count(DISTINCT s.prints[$3::integer]) AS parts,
       EXISTS (SELECT FROM family_edit e
               WHERE e.app_id = $1::integer AND e.target = $2::bytea AND e.undone_at IS NULL)
           AS joined
FROM (SELECT prints FROM stack_family
      WHERE app_id = $1::integer AND family = $2::bytea LIMIT 10000) AS s
