DELETE FROM family f
WHERE f.app_id = $1::integer AND f.family = ANY ($2::bytea[])
  AND NOT EXISTS (SELECT FROM stack_family s WHERE s.app_id = $1::integer AND s.family = f.family)
