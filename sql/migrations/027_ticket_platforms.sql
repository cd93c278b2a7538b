-- A filed family is gone, and comes back, on each platform by itself: versions of two platforms have no
-- order. No row: it is not gone there, or the ticket is closed and the platform had no sessions then.
CREATE TABLE family_ticket_platform (
    app_id         integer NOT NULL,
    family         bytea   NOT NULL,
    platform       text    NOT NULL,
    resolved_build integer REFERENCES build, -- gone as of it: seen in a later one it is back
    resolved_how   text    NOT NULL DEFAULT '' CHECK (resolved_how IN ('', 'fixed', 'closed')),
    came_back_in   integer REFERENCES build, -- last
    back_episode   bigint  NOT NULL DEFAULT 0, -- that began so
    PRIMARY KEY (app_id, family, platform),
    FOREIGN KEY (app_id, family) REFERENCES family_ticket,
    CHECK ((resolved_build IS NULL) = (resolved_how = ''))
);
-- Its ticket was closed in this episode: gone on all platforms.
ALTER TABLE family_ticket ADD COLUMN closed boolean NOT NULL DEFAULT false;

INSERT INTO family_ticket_platform (app_id, family, platform, resolved_build, resolved_how)
SELECT t.app_id, t.family, r.platform, t.resolved_build, t.resolved_how
FROM family_ticket t JOIN build r ON r.build_id = t.resolved_build;

INSERT INTO family_ticket_platform AS p (app_id, family, platform, came_back_in, back_episode)
SELECT t.app_id, t.family, b.platform, t.came_back_in, t.episode
FROM family_ticket t JOIN build b ON b.build_id = t.came_back_in
ON CONFLICT (app_id, family, platform) DO UPDATE
SET came_back_in = excluded.came_back_in, back_episode = excluded.back_episode;

-- Closed ones: of all builds that showed it then, the one with the highest code was kept. So on the
-- other platforms builds above that one came later, and the last of the rest is what it is gone as of.
UPDATE family_ticket SET closed = true WHERE resolved_how = 'closed';
INSERT INTO family_ticket_platform AS p (app_id, family, platform, resolved_build, resolved_how)
SELECT DISTINCT ON (t.app_id, t.family, b.platform) t.app_id, t.family, b.platform, b.build_id, 'closed'
FROM family_ticket t
JOIN build r ON r.build_id = t.resolved_build
JOIN build b ON b.app_id = t.app_id AND b.platform <> r.platform
     AND (b.version_code, b.build_id) <= (r.version_code, r.build_id)
JOIN family_count c ON c.app_id = t.app_id AND c.build_id = b.build_id AND c.dim = 'all' AND c.value = ''
     AND c.family IN (family_end(t.app_id, t.family), '\x00000000000000000000000000000000')
WHERE t.closed
ORDER BY t.app_id, t.family, b.platform, c.family <> '\x00000000000000000000000000000000' DESC,
         b.version_code DESC, b.build_id DESC
ON CONFLICT (app_id, family, platform) DO UPDATE
SET resolved_build = excluded.resolved_build, resolved_how = excluded.resolved_how;

ALTER TABLE family_ticket DROP COLUMN resolved_build, DROP COLUMN resolved_how, DROP COLUMN came_back_in;

-- Comments on verdicts had ids of the builds' names, which those of two platforms may share: then it
-- was that of the newer build. What was wanted already is not said again under its id of today.
INSERT INTO ticket_comment (ticket_id, comment_id, body, tried, said_at, created_at)
SELECT DISTINCT ON (c.ticket_id, c.comment_id) c.ticket_id,
       'verdict ' || b.platform || ' ' || b.build_id || ' against ' || o.build_id || ': ' || v.label,
       c.body, c.tried, coalesce(c.said_at, c.created_at), c.created_at
FROM ticket_comment c
JOIN ticket k USING (ticket_id)
JOIN family_ticket t ON t.app_id = k.app_id AND encode(t.family, 'hex') = k.key
JOIN verdict v ON v.app_id = t.app_id AND v.family = family_end(t.app_id, t.family)
     AND v.judged_at <= c.created_at
JOIN build b ON b.build_id = v.build_id
JOIN build o ON o.build_id = v.baseline_id
WHERE c.comment_id = 'verdict ' || left(encode(sha256(convert_to(
          b.version_name || ' (' || b.version_code || ') against ' || o.version_name || ' ('
          || o.version_code || ')', 'UTF8')), 'hex'), 16) || ': ' || v.label
ORDER BY c.ticket_id, c.comment_id, b.build_id DESC, o.build_id DESC
ON CONFLICT (ticket_id, comment_id) DO NOTHING;
