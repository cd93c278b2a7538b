INSERT INTO verdict (app_id, family, build_id, baseline_id, look, label, ratio, low, high, phi,
                     expected, events_old, events_new, exposure_old_us, exposure_new_us)
SELECT $1::integer, $2::bytea, $3::integer, $4::integer, $5::smallint, $6::text, $7::float8,
       $8::float8, $9::float8, $10::float8, $11::float8, $12::bigint, $13::bigint, $14::bigint,
       $15::bigint
ON CONFLICT DO NOTHING
