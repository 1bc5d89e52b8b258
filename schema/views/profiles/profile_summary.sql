-- profile_summary: how many samples each event has, and how many of them found the CPU idle
-- grain: an event with samples
-- source: function_profile
-- caveat: a sample found the CPU idle if it is in one of the kernel's functions that an idle CPU is sampled in (function_profile.is_idle): the share of these samples says how idle the CPUs were, not where time goes
-- diff no: function_profile is compared
-- as in function_profile: event
-- column sample_count [count]: samples
-- column period: what they stand for, in the event's unit (ns for cpu-clock)
-- column idle_count [count]: samples that found the CPU idle
-- column idle_period: what the idle samples stand for, in the event's unit
-- column idle_ratio [ratio]: idle_period as a share of period
SELECT event, @total(self_count) AS sample_count, @total_period(self_period) AS period,
  @total_or_zero(self_count, is_idle) AS idle_count, @total_period_or_zero(self_period, is_idle) AS idle_period,
  coalesce(sum(self_ratio) FILTER (is_idle), 0) AS idle_ratio
FROM function_profile
GROUP BY event
ORDER BY event
