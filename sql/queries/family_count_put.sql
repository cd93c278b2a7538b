INSERT INTO family_count (app_id, build_id, dim, value, family, events, jank_us, n_sessions,
                          n_installs, sessions, installs)
SELECT $1::integer, k.build_id, k.dim, k.value, k.family, k.events, k.jank_us, k.n_sessions,
       k.n_installs, k.sessions, k.installs
FROM unnest($2::bytea[], $3::integer[], $4::text[], $5::text[], $6::bigint[], $7::bigint[],
            $8::bigint[], $9::bigint[], $10::bytea[], $11::bytea[])
     AS k (family, build_id, dim, value, events, jank_us, n_sessions, n_installs, sessions,
           installs)
ON CONFLICT (app_id, build_id, dim, value, family) DO UPDATE
SET events = excluded.events, jank_us = excluded.jank_us, n_sessions = excluded.n_sessions,
    n_installs = excluded.n_installs, sessions = excluded.sessions, installs = excluded.installs
