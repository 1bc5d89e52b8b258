-- stack_frames: the frames of each callchain, as a list
-- grain: a callchain
-- source: stack
-- diff no: names, no figures
-- column stack_id: the callchain's key
-- column frame_ids: its frames, leaf first
SELECT stack_id, frame_ids FROM stack
