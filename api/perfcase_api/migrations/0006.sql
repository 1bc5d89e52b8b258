-- Labels that an upload was given, as a JSON list: its capture gets them.
ALTER TABLE upload ADD COLUMN labels TEXT NOT NULL DEFAULT '[]';
-- Whether no import of the capture has ended yet: then cancelling it leaves nothing. Captures that are there already were imported.
ALTER TABLE capture ADD COLUMN is_new INTEGER NOT NULL DEFAULT 0;
CREATE INDEX capture_at_work ON capture (uploaded_ns) WHERE state IN ('uploaded', 'importing');

-- What a team keeps under names: queries, and boards of a history's figures.
CREATE TABLE saved (
  saved_id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('query', 'board')),
  name TEXT NOT NULL,
  ticket_prefix TEXT NOT NULL,             -- of the token that saved it: who sees these tickets sees it
  told TEXT NOT NULL,                      -- JSON, as the routes have it
  author TEXT NOT NULL,
  token_id INTEGER REFERENCES token ON DELETE SET NULL,
  written_ns INTEGER NOT NULL,
  UNIQUE (kind, ticket_prefix, name)
) STRICT;

-- Where in the recording a note belongs: ns since its beginning, and the name of a rule.
ALTER TABLE note ADD COLUMN start_ns INTEGER;
ALTER TABLE note ADD COLUMN end_ns INTEGER;
ALTER TABLE note ADD COLUMN finding TEXT;
ALTER TABLE note ADD COLUMN token_id INTEGER REFERENCES token ON DELETE SET NULL;
CREATE INDEX note_by_capture ON note (capture_id);
