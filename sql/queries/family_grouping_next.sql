INSERT INTO family_grouping AS g (app_id, version) VALUES ($1::integer, 1)
ON CONFLICT (app_id) DO UPDATE SET version = g.version + 1
