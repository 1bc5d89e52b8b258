-- other_end: the other end of a connection; of a service's client without its port: Linux gives a socket that asks for none one from 32768 on (ports.rs of the importer)
-- takes: local, peer
CASE WHEN TRY_CAST(regexp_extract($local, ':([0-9]+)$', 1) AS INTEGER) < 32768 AND TRY_CAST(regexp_extract($peer, ':([0-9]+)$', 1) AS INTEGER) >= 32768
  THEN regexp_replace($peer, '[0-9]+$', '*') ELSE $peer END
