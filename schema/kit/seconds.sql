-- seconds: nanoseconds as seconds in text, to the microsecond, as printf('%.6f', ns / 1e9) writes them
-- takes: ns
-- rule: only printf knows where a half is rounded to, and what is far from 0; it takes three times as long
CASE WHEN $ns BETWEEN 0 AND 1000000000000000 AND $ns % 1000 <> 500 THEN ($ns / 1e9)::DECIMAL(18, 6)::VARCHAR ELSE printf('%.6f', $ns / 1e9) END
