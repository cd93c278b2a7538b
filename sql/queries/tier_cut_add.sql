-- A cut of a version.
INSERT INTO tier_cut (app_id, version, tier, ms)
VALUES ($1::integer, $2::integer, $3::smallint, $4::text::float8)
