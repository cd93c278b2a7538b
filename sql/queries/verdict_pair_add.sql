-- Nothing if the builds are not of one platform of the app.
INSERT INTO verdict_pair (app_id, build_id, baseline_id, actor)
SELECT $1::integer, b.build_id, o.build_id, $4::text
FROM build b JOIN build o ON o.app_id = b.app_id AND o.platform = b.platform
WHERE b.app_id = $1::integer AND b.build_id = $2::integer AND o.build_id = $3::integer
  AND b.build_id <> o.build_id
ON CONFLICT (app_id, build_id, baseline_id) DO UPDATE SET actor = verdict_pair.actor
