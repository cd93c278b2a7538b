-- Sketches are dense already: squeezing them costs more than it saves, at each write.
ALTER TABLE family_count ALTER sessions SET STORAGE EXTERNAL;
ALTER TABLE family_count ALTER installs SET STORAGE EXTERNAL;
ALTER TABLE stack_count ALTER sessions SET STORAGE EXTERNAL;
ALTER TABLE stack_count ALTER installs SET STORAGE EXTERNAL;
