-- step_ts: when a step begins; the first one begins with the recording
-- takes: step, step_ns, start_ns
greatest($step * $step_ns, $start_ns)
