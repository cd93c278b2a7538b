-- Where sessions are counted by now, and what they count.
UPDATE session s SET tier = d.tier, contribution = d.contribution
FROM unnest($2::uuid[], $3::smallint[], $4::bytea[]) AS d (session_id, tier, contribution)
WHERE s.shard = $1::integer AND s.session_id = d.session_id
