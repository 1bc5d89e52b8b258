-- stack_frames: the frames of each callchain, as a list
-- grain: a callchain
-- source: stack
-- diff no: names, no figures
-- keys: stack_id
-- as in stack: frame_ids
SELECT stack_id, frame_ids FROM stack
