-- Of these rows the ones that came down to nothing.
DELETE FROM family_count f
USING unnest($2::bytea[], $3::integer[], $4::text[], $5::text[]) AS k (family, build_id, dim, value)
WHERE f.app_id = $1::integer AND f.build_id = k.build_id AND f.dim = k.dim AND f.value = k.value
  AND f.family = k.family AND f.events = 0
