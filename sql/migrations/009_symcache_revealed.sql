-- Whether the table came with the BCSymbolMap of names that bitcode hid.
ALTER TABLE symcache ADD revealed boolean NOT NULL DEFAULT false;
