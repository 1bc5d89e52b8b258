-- Captures, who may see them, and who did what. Times are ns since 1970 (UTC), sizes bytes.
CREATE TABLE token (
  token_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE,               -- SHA-256 of the secret, which is 256 random bits: no salt is needed
  role TEXT NOT NULL CHECK (role IN ('viewer', 'uploader', 'admin')),
  ticket_prefix TEXT NOT NULL DEFAULT '',  -- '' : all tickets
  created_ns INTEGER NOT NULL,
  expires_ns INTEGER,
  revoked_ns INTEGER
) STRICT;

CREATE TABLE session (
  hash TEXT PRIMARY KEY,
  token_id INTEGER NOT NULL REFERENCES token ON DELETE CASCADE,
  expires_ns INTEGER NOT NULL
) STRICT;

CREATE TABLE capture (
  capture_id TEXT PRIMARY KEY,             -- hash of the file, as in the table capture
  name TEXT NOT NULL,                      -- as it was uploaded, for people
  size_bytes INTEGER NOT NULL,
  ticket TEXT NOT NULL DEFAULT '',
  state TEXT NOT NULL CHECK (state IN ('uploaded', 'importing', 'ready', 'failed')),
  reason TEXT,                             -- why the import failed
  damage TEXT,                             -- what its checksums found
  uploaded_ns INTEGER NOT NULL,
  token_id INTEGER REFERENCES token ON DELETE SET NULL,
  -- known after the import
  host TEXT, kernel TEXT, started_ns INTEGER, duration_ns INTEGER, remark TEXT
) STRICT;
CREATE INDEX capture_by_ticket ON capture (ticket);

CREATE TABLE label (
  capture_id TEXT NOT NULL REFERENCES capture ON DELETE CASCADE,
  label TEXT NOT NULL,
  PRIMARY KEY (capture_id, label)
) STRICT;

CREATE TABLE note (
  note_id INTEGER PRIMARY KEY,
  capture_id TEXT NOT NULL REFERENCES capture ON DELETE CASCADE,
  author TEXT NOT NULL,
  text TEXT NOT NULL,
  written_ns INTEGER NOT NULL
) STRICT;

CREATE TABLE finding (
  capture_id TEXT NOT NULL REFERENCES capture ON DELETE CASCADE,
  finding TEXT NOT NULL,
  severity TEXT NOT NULL,
  subject TEXT NOT NULL,
  message TEXT NOT NULL
) STRICT;
CREATE INDEX finding_by_capture ON finding (capture_id);

CREATE TABLE upload (
  upload_id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  ticket TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  accept_damaged INTEGER NOT NULL,
  token_id INTEGER REFERENCES token ON DELETE CASCADE,
  created_ns INTEGER NOT NULL
) STRICT;

CREATE TABLE audit (
  audit_id INTEGER PRIMARY KEY,
  at_ns INTEGER NOT NULL,
  who TEXT NOT NULL,
  address TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  status INTEGER NOT NULL
) STRICT;
