-- Events of a stack over all builds: a family is shown by its largest stack.
ALTER TABLE stack_family ADD events bigint NOT NULL DEFAULT 0;
CREATE INDEX stack_family_largest ON stack_family (app_id, family, events DESC, hash);
DROP INDEX stack_family_members;

-- Stacks that read differently are grouped anew soon.
CREATE OR REPLACE FUNCTION note_regroup() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- an update, not DO NOTHING: it waits for whoever takes the entry away, and comes back after
    INSERT INTO stack_regroup (app_id, hash)
    SELECT n.app_id, n.hash FROM after n
    JOIN before b ON b.app_id = n.app_id AND b.hash = n.hash
    WHERE n.symbols IS DISTINCT FROM b.symbols
    ORDER BY n.app_id, n.hash
    ON CONFLICT (app_id, hash) DO UPDATE SET at = now();
    IF FOUND THEN
        PERFORM families_queue(app_id) FROM (SELECT DISTINCT app_id FROM after) AS apps;
    END IF;
    RETURN NULL;
END $$;
