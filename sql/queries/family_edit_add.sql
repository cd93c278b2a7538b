-- Nothing if the family is merged or split already.
INSERT INTO family_edit (app_id, kind, family, target, depth, actor, note)
VALUES ($1::integer, $2::text, $3::bytea, $4::bytea, $5::smallint, $6::text, $7::text)
ON CONFLICT (app_id, family) WHERE undone_at IS NULL DO NOTHING
RETURNING edit_id AS id
