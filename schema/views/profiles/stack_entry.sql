-- stack_entry: the frames of each callchain, one row each
-- grain: a callchain and a position in it
-- source: stack
-- diff no: names, no figures
-- column stack_id: the callchain's key
-- column position: 0 is the leaf
-- column frame_id: the frame
SELECT stack_id, unnest(generate_series(0, len(frame_ids) - 1)) AS position, unnest(frame_ids) AS frame_id
FROM stack
