-- The ticket prefix of the token that an upload began with.
ALTER TABLE upload ADD COLUMN ticket_prefix TEXT NOT NULL DEFAULT '';

-- Captures whose files still have to go: a folder that no row knows is somebody's capture and is kept, these are not.
CREATE TABLE deleted (
  capture_id TEXT PRIMARY KEY
) STRICT;
