-- People who sign in with an account of an identity provider: a token whose secret nobody has stands for each of them.
ALTER TABLE token ADD COLUMN issuer TEXT;
ALTER TABLE token ADD COLUMN subject TEXT;
CREATE UNIQUE INDEX token_by_subject ON token (issuer, subject);
