-- step_interval: the length of a step; for the first and the last one only the part that was recorded
-- takes: step, step_ns, start_ns, end_ns
greatest(1, least(($step + 1) * $step_ns, $end_ns) - greatest($step * $step_ns, $start_ns))
