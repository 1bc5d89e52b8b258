-- stack_folded: each callchain as one line of text
-- grain: a callchain
-- source: stack_entry, frame_label
-- diff no: names, no figures
-- keys: stack_id
-- column labels: the names of its frames, root first
-- column folded: the same, separated by semicolons: the form that flame graph tools read
SELECT
  e.stack_id,
  list(l.label ORDER BY e.position DESC) AS labels,
  string_agg(replace(l.label, ';', ':'), ';' ORDER BY e.position DESC) AS folded
FROM stack_entry AS e
JOIN frame_label AS l USING (frame_id)
GROUP BY e.stack_id
