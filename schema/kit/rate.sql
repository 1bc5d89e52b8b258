-- rate: an amount per second over several intervals; an interval whose amount is unknown does not count
-- takes: amount, interval_ns
1e9 * sum($amount) / nullif(sum($interval_ns) FILTER ($amount IS NOT NULL), 0)
