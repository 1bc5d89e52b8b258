-- Whether the upload is one request: nobody knows its id, so nobody goes on with it when the server ends meanwhile.
ALTER TABLE upload ADD COLUMN is_one_request INTEGER NOT NULL DEFAULT 0;
