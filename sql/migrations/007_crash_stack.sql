-- The stack of a crash among all stacks: there its frames are read with symbols.
ALTER TABLE crash ADD stack_hash bytea;
