-- finding: the problems that the rules of schema/findings found in the capture, most severe first
-- grain: a rule and a thing that it fired for
-- source: finding_rule
-- caveat: a rule without a row did not fire, or could not be judged: finding_coverage says which
-- diff no: sentences, no figures; perfcase diff leads with those that are new, gone or changed
-- as in finding_rule: finding
-- column severity: critical, warning or note
-- column subject: what it is about: a thread, a device, a control group, a CPU, the whole host
-- column message: the figures, in a sentence
-- column score: share of the time or capacity that is lost, from 0 to 1; findings of one severity are ordered by it
-- as in finding_rule: title, means, next, evidence
WITH fired AS (
@fired
)
SELECT f.finding, f.severity, f.subject, f.message, f.score, r.title, r.means, r.next, r.evidence
FROM fired AS f
JOIN finding_rule AS r USING (finding)
ORDER BY CASE f.severity WHEN 'critical' THEN 1 WHEN 'warning' THEN 2 ELSE 3 END, f.score DESC, f.finding, f.subject, f.message
