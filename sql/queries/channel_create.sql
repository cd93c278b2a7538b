INSERT INTO channel (app_id, name, kind, takes, enabled, settings, target, secrets, secret_names,
                     min_severity, tiers, metrics, states, reports, quiet_from_min, quiet_to_min,
                     utc_offset_min, loud_severity, rate_per_min)
VALUES ($1::integer, $2::text, $3::text, $4::text, $5::boolean, $6::jsonb, $7::text, $8::bytea,
        $9::text[], $10::smallint, $11::text[], $12::text[], $13::text[], $14::boolean, $15::smallint,
        $16::smallint, $17::smallint, $18::smallint, $19::integer)
RETURNING channel_id AS id
