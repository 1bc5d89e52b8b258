-- finding: the problems that the rules of schema/findings found in the capture: what cost the workload most first, each followed by what follows from it
-- grain: a rule and a thing that it fired for
-- source: finding_rule
-- caveat: a rule without a row did not fire, or could not be judged: finding_coverage says which
-- caveat: a cost is an upper bound of what a remedy brings: another thing may keep up the same time. The costs of several findings do not add up
-- diff no: sentences, no figures; perfcase diff leads with those that are new, gone or changed
-- as in finding_rule: finding
-- column severity: critical: a user of the service felt it; warning; note. What the rule says, but no more than a warning below a hundredth of the workload's time or calls, and no more than a note below a thousandth
-- column subject: what it is about: a thread, a device, a control group, a CPU, the whole host
-- column message: the figures, in a sentence
-- column score: what it cost: its share of the time of the workload (workload_time), or of the calls, requests or segments of which some failed, from 0 to 1; NULL if that is not known, or is to come (a leak). Findings of one severity are ordered by it
-- column follows_from: the finding that it is a consequence of, which stands before it; NULL if none is known
-- as in finding_rule: title, means, next, evidence
WITH fired AS (
@fired
), judged AS (
  SELECT finding, subject, message, score, about, row_number() OVER (ORDER BY finding, subject, message) AS number,
    CASE
      WHEN score < 0.001 THEN 3
      WHEN severity = 'critical' AND (score < 0.01) IS NOT TRUE THEN 1
      WHEN severity IN ('critical', 'warning') THEN 2
      ELSE 3
    END AS place
  FROM fired
), cause AS (
  SELECT f.number, arg_max(c.number, (coalesce(c.score, -1), -c.number)) AS cause
  FROM judged AS f
  JOIN finding_rule AS r USING (finding)
  JOIN judged AS c ON list_contains(string_split(r.follows_from, ', '), c.finding) AND list_has_any(f.about, c.about)
  GROUP BY f.number
), rooted AS (
  SELECT f.*, coalesce(b.cause, a.cause, f.number) AS root
  FROM judged AS f
  LEFT JOIN cause AS a USING (number)
  LEFT JOIN cause AS b ON b.number = a.cause
), placed AS (
  SELECT *, min(place) OVER w AS root_place, max(score) OVER w AS root_score FROM rooted WINDOW w AS (PARTITION BY root)
)
SELECT p.finding, CASE p.place WHEN 1 THEN 'critical' WHEN 2 THEN 'warning' ELSE 'note' END AS severity, p.subject, p.message, p.score,
  CASE WHEN p.root <> p.number THEN c.finding END AS follows_from, r.title, r.means, r.next, r.evidence
FROM placed AS p
JOIN finding_rule AS r USING (finding)
JOIN judged AS c ON c.number = p.root
ORDER BY p.root_place, p.root_score DESC NULLS LAST, p.root, p.root <> p.number, p.place, p.score DESC NULLS LAST, p.number
