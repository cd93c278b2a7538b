-- Windows of sessions without janks, in these scenes: at most $4 a scene, of the newest builds first;
-- of build $3 alone if it is given.
SELECT w.scene, array_to_string(w.steps, chr(30)) AS steps
FROM unnest($2::text[]) AS s (scene)
CROSS JOIN LATERAL (
    SELECT b.build_id FROM build b
    WHERE b.app_id = $1::integer AND ($3::integer IS NULL OR b.build_id = $3::integer)
    ORDER BY b.build_id DESC
    LIMIT 8) b
CROSS JOIN LATERAL (
    SELECT c.scene, c.steps FROM clean_window c
    WHERE c.app_id = $1::integer AND c.build_id = b.build_id AND c.scene = s.scene
    LIMIT $4::bigint) w
