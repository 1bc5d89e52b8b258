-- Figures that an import worked out for histories: of one view a row, as JSON (perfcase.fleet.figures).
CREATE TABLE figure (
  capture_id TEXT NOT NULL REFERENCES capture ON DELETE CASCADE,
  view TEXT NOT NULL,
  build TEXT NOT NULL,                     -- of perfcase
  told TEXT NOT NULL,
  PRIMARY KEY (view, capture_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX figure_by_capture ON figure (capture_id);
