-- finding: the problems that the rules of schema/findings found in the capture: what cost the workload most first, each followed by what follows from it
-- grain: a rule and a thing that it fired for
-- source: finding_rule, workload_time
-- caveat: a rule without a row did not fire, or could not be judged: finding_coverage says which
-- caveat: a cost is an upper bound of what a remedy brings: another thing may keep up the same time. The costs of several findings do not add up
-- diff no: sentences, no figures; perfcase diff leads with those that are new, gone or changed
-- as in finding_rule: finding
-- column severity: critical: a user of the service felt it; warning; note. What the rule says, but no more than a warning below a hundredth of the workload's time or calls, and no more than a note below a thousandth
-- column subject: what it is about: a thread, a device, a control group, a CPU, the whole host
-- column message: the figures, in a sentence
-- column cost_ns [ns]: time of the workload's threads that it cost; NULL if that is not known
-- column score: what it cost, from 0 to 1: cost_ns as a share of the time of the workload (workload_time), or the share of calls, requests or segments that failed, if that is more; NULL if that is not known, or is to come (a leak). Findings of one severity are ordered by it
-- column follows_from: the finding that it is a consequence of, which stands before it; NULL if none is known
-- as in finding_rule: title, means, next, evidence
WITH fired AS (
@fired
), scored AS (
  -- greatest() takes NULL for no bound.
  SELECT f.*,
    greatest(CASE WHEN f.cost_ns >= f.total_ns THEN 1 ELSE f.cost_ns / f.total_ns END, f.failed_ratio)::DOUBLE AS score
  FROM (
    SELECT f.* REPLACE (coalesce(f.cost_ns, @whole(f.of_run_ratio * w.run_ns)) AS cost_ns), w.total_ns
    FROM fired AS f
    LEFT JOIN workload_time AS w ON true
  ) AS f
), judged AS MATERIALIZED (
  SELECT finding, subject, message, cost_ns, score, about, row_number() OVER (ORDER BY finding, subject, message) AS number,
    CASE
      WHEN score < 0.001 THEN 3
      WHEN severity = 'critical' AND (score < 0.01) IS NOT TRUE THEN 1
      WHEN severity IN ('critical', 'warning') THEN 2
      ELSE 3
    END AS place
  FROM scored
), cause AS (
  SELECT f.number, arg_max(c.number, (coalesce(c.score, -1), -c.number)) AS cause
  FROM judged AS f
  JOIN finding_rule AS r USING (finding)
  JOIN judged AS c ON list_contains(string_split(r.follows_from, ', '), c.finding) AND list_has_any(f.about, c.about)
  GROUP BY f.number
), rooted AS (
  SELECT f.*, coalesce(g.cause, e.cause, d.cause, c.cause, b.cause, a.cause, f.number) AS root
  FROM judged AS f
  LEFT JOIN cause AS a USING (number)
  LEFT JOIN cause AS b ON b.number = a.cause
  LEFT JOIN cause AS c ON c.number = b.cause
  LEFT JOIN cause AS d ON d.number = c.cause
  LEFT JOIN cause AS e ON e.number = d.cause
  LEFT JOIN cause AS g ON g.number = e.cause
), placed AS (
  SELECT *, min(place) OVER w AS root_place, max(score) OVER w AS root_score FROM rooted WINDOW w AS (PARTITION BY root)
)
SELECT p.finding, CASE p.place WHEN 1 THEN 'critical' WHEN 2 THEN 'warning' ELSE 'note' END AS severity, p.subject, p.message, p.cost_ns, p.score,
  CASE WHEN p.root <> p.number THEN c.finding END AS follows_from, r.title, r.means, r.next, r.evidence
FROM placed AS p
JOIN finding_rule AS r USING (finding)
JOIN judged AS c ON c.number = p.root
ORDER BY p.root_place, p.root_score DESC NULLS LAST, p.root, p.root <> p.number, p.place, p.score DESC NULLS LAST, p.number
