-- stack_weight: how many samples of each event have each callchain
-- grain: an event and a callchain
-- source: sample_weight, perf_event, stack_folded, frame_label
-- caveat: a sample without a callchain counts as a callchain of its one sampled frame, with a NULL stack_id
-- diff no: stacks by an id; function_profile compares the functions
-- column event: the event's name
-- column stack_id: the callchain's key; NULL for samples that have only their own address
-- as in stack_folded: labels
-- column sample_count [count]: samples with this callchain
-- as in sample_weight: period
SELECT v.name AS event, w.stack_id, coalesce(f.labels, [l.label]) AS labels, w.sample_count, w.period
FROM (
  -- What is too large for a part is too large for the sum.
  SELECT event_id, stack_id, CASE WHEN stack_id IS NULL THEN frame_id END AS frame_id, @total(sample_count) AS sample_count,
    CASE WHEN count(period) = count(*) THEN @total_period(period) END AS period
  FROM sample_weight
  GROUP BY ALL
) AS w
JOIN perf_event AS v USING (event_id)
LEFT JOIN stack_folded AS f ON f.stack_id = w.stack_id
LEFT JOIN frame_label AS l ON l.frame_id = w.frame_id
