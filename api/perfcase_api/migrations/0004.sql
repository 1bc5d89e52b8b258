-- Figures that a history asked captures for: a line of JSON that `perfcase history --reading` printed.
CREATE TABLE reading (
  reading_id INTEGER PRIMARY KEY,
  capture_id TEXT NOT NULL REFERENCES capture ON DELETE CASCADE,
  question TEXT NOT NULL,                  -- hash of the question and of the build of perfcase that answered it
  told TEXT NOT NULL,
  UNIQUE (question, capture_id)
) STRICT;
CREATE INDEX reading_by_capture ON reading (capture_id);
