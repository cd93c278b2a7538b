-- Merges of kin, by the job itself. A family that somebody merged meanwhile stays where it is.
INSERT INTO family_edit (app_id, kind, family, target, by_kin, lost, actor)
SELECT $1::integer, 'merge', j.family, j.target, j.by_kin, j.lost, 'auto'
FROM unnest($2::bytea[], $3::bytea[], $4::text[], $5::text[]) AS j (family, target, by_kin, lost)
ON CONFLICT (app_id, family) WHERE undone_at IS NULL DO NOTHING
