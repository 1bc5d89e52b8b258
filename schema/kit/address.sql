-- address: an IP address as text, of its bytes as hex digits: 8 are IPv4, 32 IPv6 (RFC 5952: the longest run of zeros is left out, the first of several)
-- takes: digits
CASE WHEN length($digits) IN (8, 32) THEN list_transform([struct_pack(
  short := array_to_string(list_transform([7, 5, 3, 1], lambda i: ('0x' || substr($digits, length($digits) - i, 2))::INTEGER), '.'),
  long := array_to_string(list_transform(
    [1, 5, 9, 13, 17, 21, 25, 29], lambda i: coalesce(nullif(ltrim(lower(substr($digits, i, 4)), '0'), ''), '0')), ':')
)], lambda a: CASE
  WHEN length($digits) = 8 THEN a.short
  WHEN starts_with(a.long, '0:0:0:0:0:ffff:') THEN '::ffff:' || a.short
  WHEN a.long = '0:0:0:0:0:0:0:0' THEN '::'
  WHEN regexp_matches(a.long, '(^|:)0(:0){6}(:|$)') THEN regexp_replace(a.long, '(^|:)0(:0){6}(:|$)', '::')
  WHEN regexp_matches(a.long, '(^|:)0(:0){5}(:|$)') THEN regexp_replace(a.long, '(^|:)0(:0){5}(:|$)', '::')
  WHEN regexp_matches(a.long, '(^|:)0(:0){4}(:|$)') THEN regexp_replace(a.long, '(^|:)0(:0){4}(:|$)', '::')
  WHEN regexp_matches(a.long, '(^|:)0(:0){3}(:|$)') THEN regexp_replace(a.long, '(^|:)0(:0){3}(:|$)', '::')
  WHEN regexp_matches(a.long, '(^|:)0(:0){2}(:|$)') THEN regexp_replace(a.long, '(^|:)0(:0){2}(:|$)', '::')
  WHEN regexp_matches(a.long, '(^|:)0:0(:|$)') THEN regexp_replace(a.long, '(^|:)0:0(:|$)', '::')
  ELSE a.long
END)[1] END
