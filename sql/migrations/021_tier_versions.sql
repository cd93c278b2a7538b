-- Cuts placed anew: who asked for that version, and why. '': placed by itself.
ALTER TABLE tier_model ADD COLUMN placed_by text NOT NULL DEFAULT '';
ALTER TABLE tier_model ADD COLUMN note      text NOT NULL DEFAULT '';
