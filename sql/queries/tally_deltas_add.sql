INSERT INTO stack_delta (app_id, shard, session_id, install_hash, build_id, day, tier, model_id,
                         sign, tally)
SELECT $1::integer, $2::integer, d.session_id, d.install_hash, d.build_id,
       DATE '2000-01-01' + d.day, d.tier, d.model_id, d.sign, d.tally
FROM unnest($3::uuid[], $4::bytea[], $5::integer[], $6::integer[], $7::smallint[], $8::integer[],
            $9::smallint[], $10::bytea[])
     AS d (session_id, install_hash, build_id, day, tier, model_id, sign, tally)
