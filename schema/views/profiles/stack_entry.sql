-- stack_entry: the frames of each callchain, one row each
-- grain: a callchain and a position in it
-- source: stack
-- diff no: names, no figures
-- keys: stack_id
-- column position: 0 is the leaf
-- keys: frame_id
SELECT stack_id, unnest(generate_series(0, len(frame_ids) - 1)) AS position, unnest(frame_ids) AS frame_id
FROM stack
