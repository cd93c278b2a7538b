-- Rules and edits of the app stay as they are until the transaction ends.
INSERT INTO family_grouping AS g (app_id, version) VALUES ($1::integer, 0)
ON CONFLICT (app_id) DO UPDATE SET version = g.version
