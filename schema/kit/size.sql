-- size: bytes in words, in powers of 1024, rounded to one decimal (DuckDB's format_bytes() cuts off what is behind it)
-- takes: bytes
CASE
  WHEN $bytes < 1024 THEN format('{:.0f} B', $bytes / 1)
  WHEN $bytes < 1048576 THEN format('{:.1f} KiB', $bytes / 1024)
  WHEN $bytes < 1073741824 THEN format('{:.1f} MiB', $bytes / 1048576)
  WHEN $bytes < 1099511627776 THEN format('{:.1f} GiB', $bytes / 1073741824)
  ELSE format('{:.1f} TiB', $bytes / 1099511627776)
END
