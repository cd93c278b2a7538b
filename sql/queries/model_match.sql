-- Ids of the device models a session filter names; the same phone has one for each memory size.
SELECT model_id AS id
FROM device_model
WHERE app_id = $1::integer
  AND ($2::text IS NULL OR manufacturer = $2::text)
  AND ($3::text IS NULL OR model = $3::text)
ORDER BY model_id DESC
LIMIT $4::bigint
