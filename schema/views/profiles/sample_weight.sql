-- sample_weight: how many samples of each event have each place and callchain, by their keys
-- grain: an event, a sampled place and a callchain
-- source: sample
-- caveat: a sample that has neither a place nor a callchain is not here
-- diff no: places and callchains by an id; function_profile compares the functions
-- as in sample: event_id, frame_id, stack_id
-- column sample_count [count]: samples with this place and callchain
-- column period: what these samples stand for, in the event's unit
SELECT event_id, frame_id, stack_id, count(*) AS sample_count, @total_period(coalesce(period, 1)) AS period
FROM sample
WHERE frame_id IS NOT NULL OR stack_id IS NOT NULL
GROUP BY event_id, frame_id, stack_id
