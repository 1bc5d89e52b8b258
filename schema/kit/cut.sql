-- cut: the numbers of the steps that an interval lies in, a row each; at most 100,001
-- takes: ts_ns, end_ns, step_ns
unnest(range($ts_ns // $step_ns, least(($end_ns - 1) // $step_ns, $ts_ns // $step_ns + 100000) + 1))
