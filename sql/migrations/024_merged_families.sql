-- Kin of a third kind: a mapping allows several names, and one of them is met elsewhere.
ALTER TABLE family_edit DROP CONSTRAINT family_edit_by_kin_check;
ALTER TABLE family_edit ADD CONSTRAINT family_edit_by_kin_check CHECK (by_kin IN ('lost', 'cut', 'named'));

-- The family that stacks of `family` are in once merges are followed; docs/families.md.
CREATE FUNCTION family_end(app integer, family bytea) RETURNS bytea LANGUAGE sql STABLE AS $$
    WITH RECURSIVE step (at, n) AS (
        SELECT family_end.family, 0
        UNION ALL
        SELECT e.target, s.n + 1
        FROM step s JOIN family_edit e ON e.app_id = app AND e.family = s.at AND e.kind = 'merge'
             AND e.undone_at IS NULL
        WHERE s.n < 64)
    SELECT at FROM step ORDER BY n DESC LIMIT 1
$$;
-- Filed families with the family they are in now. One ticket tells of it (carries): its own, or else
-- that of the first of those merged into it.
CREATE FUNCTION family_tickets(app integer)
RETURNS TABLE (family bytea, at bytea, carries boolean) LANGUAGE sql STABLE AS $$
    SELECT x.family, x.at,
           row_number() OVER (PARTITION BY x.at ORDER BY x.family <> x.at, x.wanted_at, x.family) = 1
    FROM (SELECT t.family, t.wanted_at, family_end(app, t.family) AS at
          FROM family_ticket t WHERE t.app_id = app) AS x
$$;
