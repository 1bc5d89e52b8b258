-- cost: what so much time of threads is of all the time of the workload; NULL where one of the two is not known
-- takes: ns
CASE WHEN $ns >= (SELECT total_ns FROM workload_time) THEN 1 ELSE $ns / (SELECT total_ns FROM workload_time) END::DOUBLE
