-- call_argument: an argument of a system call as text, by the kind that syscall_definition says; NULL if the call has no such argument
-- takes: kind, set_name, bits, names, abi, label
CASE
  WHEN $bits IS NULL OR $kind IS NULL OR $kind = '-' THEN NULL
  WHEN $names IS NOT NULL THEN $names
  WHEN $kind = 'p' AND $bits = 0 THEN 'NULL'
  WHEN $kind = 'x' AND $bits = 0 THEN '0'
  WHEN $set_name IS NOT NULL THEN printf('0x%x', $bits & 4294967295)
  WHEN $kind IN ('p', 'x') THEN '0x' || lower(to_hex($bits))
  WHEN $kind = 'o' THEN CASE WHEN $bits & 65535 < 64 THEN printf('%03o', $bits & 65535) ELSE printf('0%o', $bits & 65535) END
  WHEN $kind = 'u' THEN $bits::VARCHAR
  WHEN $kind = 'w' THEN ($bits & 4294967295)::VARCHAR
  WHEN $kind = 'l' AND $abi NOT IN ('i386', 'arm', 's390') THEN ($bits::HUGEINT
    - CASE WHEN $bits >= 9223372036854775808 THEN 18446744073709551616 ELSE 0 END)::VARCHAR
  WHEN $kind = 'f' AND $bits & 4294967295 = 4294967196 THEN 'AT_FDCWD'
  ELSE (($bits & 4294967295)::BIGINT - CASE WHEN $bits & 2147483648 <> 0 THEN 4294967296 ELSE 0 END)::VARCHAR
    || CASE WHEN $kind = 'f' THEN coalesce('<' || $label || '>', '') ELSE '' END
END
