-- Labels that an upload was given, as a JSON list: its capture gets them.
ALTER TABLE upload ADD COLUMN labels TEXT NOT NULL DEFAULT '[]';
-- Whether no import of the capture has ended yet: then cancelling it leaves nothing. Captures that are there already were imported.
ALTER TABLE capture ADD COLUMN is_new INTEGER NOT NULL DEFAULT 0;
CREATE INDEX capture_at_work ON capture (uploaded_ns) WHERE state IN ('uploaded', 'importing');
