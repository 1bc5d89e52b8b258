-- buckets: the part of the capture that a picture shows, from start_ns to end_ns (parameters; by default, all of it), and the length of each of
--   its buckets, bucket_ns (the parameter buckets is their number, at most 10,000); no row for a part that is none. An end beyond
--   all times that a capture can have is that bound
-- takes: by_default
SELECT start_ns, end_ns, greatest((end_ns - start_ns + buckets - 1) // buckets, 1) AS bucket_ns
FROM (
  SELECT
    greatest(coalesce(getvariable('start_ns')::BIGINT, 0), 0) AS start_ns,
    least(coalesce(getvariable('end_ns')::BIGINT, max(duration_ns)), 2305843009213693952) AS end_ns,
    least(greatest(coalesce(getvariable('buckets')::BIGINT, $by_default), 1), 10000) AS buckets
  FROM capture
)
WHERE start_ns < end_ns
