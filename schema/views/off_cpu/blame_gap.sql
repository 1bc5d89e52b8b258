-- blame_gap: how much of what threads waited for with work has no known cause, and why
-- grain: a reason: a cause of the table blame that names none
-- source: blame
-- caveat: a reason that nothing has is left out: without a row every wait was followed to its cause
-- diff no: how good blame_by_comm is, which has these causes too
-- as in blame: cause
-- column meaning: the reason in words
-- column part_count [count]: parts of waits
-- column wait_ns [ns]: time that threads waited in them
-- column wait_ratio [ratio]: its share of all that threads waited with work
WITH cause AS (
  SELECT cause, count(*) AS part_count, @total(duration_ns) AS wait_ns FROM blame GROUP BY cause
), share AS (
  SELECT cause, part_count, wait_ns, @ratio(wait_ns, sum(wait_ns) OVER ()) AS wait_ratio FROM cause
)
SELECT cause,
  CASE cause
    WHEN 'not_followed' THEN 'threads wait for one another, or over more than 20 wakers'
    ELSE 'no event tells: lost, not recorded, or of a process that was not recorded'
  END AS meaning,
  part_count, wait_ns, wait_ratio
FROM share
WHERE cause IN ('not_followed', 'not_recorded')
ORDER BY cause
