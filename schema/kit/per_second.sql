-- per_second: an amount per second of an interval in ns
-- takes: amount, interval_ns
1e9 * $amount / nullif($interval_ns, 0)
