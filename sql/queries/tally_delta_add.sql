INSERT INTO stack_delta (app_id, shard, session_id, install_hash, build_id, day, tier, model_id,
                         sign, tally)
VALUES ($1::integer, $2::integer, $3::uuid, $4::bytea, $5::integer,
        DATE '2000-01-01' + $6::integer, $7::smallint, $8::integer, $9::smallint, $10::bytea)
