-- Merges of kin, which the job 'kin' makes and takes back by itself: by_kin says why ('lost', 'cut'),
-- lost the frames. withdrawn: undone by the job, since it holds no longer. What a person undid is
-- never made again.
ALTER TABLE family_edit ADD by_kin text CHECK (by_kin IN ('lost', 'cut'));
ALTER TABLE family_edit ADD lost text NOT NULL DEFAULT '';
ALTER TABLE family_edit ADD withdrawn boolean NOT NULL DEFAULT false;
CREATE INDEX family_edit_apart ON family_edit (app_id)
    WHERE by_kin IS NOT NULL AND undone_at IS NOT NULL AND NOT withdrawn;
