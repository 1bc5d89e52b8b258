-- step_interval: how long a step is; the first and the last one as far as it was recorded
-- takes: step, step_ns, start_ns, end_ns
greatest(1, least(($step + 1) * $step_ns, $end_ns) - greatest($step * $step_ns, $start_ns))
