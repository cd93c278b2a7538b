-- Ids of a build and a device model, made if new. NULL (read as 0) if another transaction has just
-- made it: ask again.
WITH b AS (
    SELECT build_id FROM build
    WHERE app_id = $1::integer AND platform = $2::text AND version_code = $3::bigint
      AND version_name = $4::text AND build_uid = $5::text),
new_b AS (
    INSERT INTO build (app_id, platform, version_code, version_name, build_uid)
    SELECT $1::integer, $2::text, $3::bigint, $4::text, $5::text
    WHERE NOT EXISTS (SELECT FROM b)
    ON CONFLICT DO NOTHING
    RETURNING build_id),
m AS (
    SELECT model_id, tier FROM device_model
    WHERE app_id = $1::integer AND platform = $2::text AND manufacturer = $6::text
      AND model = $7::text AND soc = $8::text AND ram_gb = $9::integer),
new_m AS (
    INSERT INTO device_model (app_id, platform, manufacturer, model, soc, ram_gb, gpu, clusters,
                              screen_width_px, screen_height_px, refresh_millihertz)
    SELECT $1::integer, $2::text, $6::text, $7::text, $8::text, $9::integer, $10::text,
           $11::jsonb, $12::integer, $13::integer, $14::integer
    WHERE NOT EXISTS (SELECT FROM m)
    ON CONFLICT DO NOTHING
    RETURNING model_id, tier),
any_b AS (SELECT build_id FROM b UNION ALL SELECT build_id FROM new_b),
any_m AS (SELECT model_id, tier FROM m UNION ALL SELECT model_id, tier FROM new_m)
SELECT (SELECT build_id FROM any_b) AS build_id, (SELECT model_id FROM any_m) AS model_id,
       (SELECT tier FROM any_m) AS tier
