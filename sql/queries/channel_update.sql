-- Everything of channel $20 of app $1 but its kind ($3, $4) anew; what held it back is forgotten.
UPDATE channel
SET name = $2::text, enabled = $5::boolean, settings = $6::jsonb, target = $7::text,
    secrets = $8::bytea, secret_names = $9::text[], min_severity = $10::smallint, tiers = $11::text[],
    metrics = $12::text[], states = $13::text[], reports = $14::boolean,
    quiet_from_min = $15::smallint, quiet_to_min = $16::smallint, utc_offset_min = $17::smallint,
    loud_severity = $18::smallint, rate_per_min = $19::integer,
    updated_at = now(), open_at = least(open_at, now()), failures = 0
WHERE app_id = $1::integer AND channel_id = $20::bigint AND deleted_at IS NULL
  AND kind = $3::text AND takes = $4::text
RETURNING channel_id AS id
