/* touched.h: which pages of which processes the samples of a perf.data lie in, and their callers. What is mapped elsewhere has
 * no address that needs a name. */
#ifndef PERFCASE_TOUCHED_H
#define PERFCASE_TOUCHED_H

#include "perf_read.h"

#include <sys/types.h>

enum { PID_MOST = 1 << 22 };

struct touched {
	uint64_t *keys; /* a process and a page: hash slots, 0 is free; from touched_end() on a sorted list */
	size_t slot_count, count;
	struct layout *layouts; /* of each event's samples, by id */
	size_t layout_count;
	int is_by_id; /* several events, whose samples begin with their id */
	struct edge *edges; /* who was forked by which process */
	size_t edge_count;
	uint32_t *parents; /* by pid: its latest edge + 1 */
	const char *doubt; /* NULL, or why it cannot be told: then everything counts as touched */
};

/* Reads what the head of a file says of its events. Nothing but zeros is in `touched` before the first one. */
void touched_begin(struct touched *touched, struct perf_reader *perf);
/* Any record. */
void touched_record(struct touched *touched, const struct perf_reader *perf);
/* A child has the mappings of its parent: what it touched, the parent did. */
void touched_end(struct touched *touched);

/* Whether a sample lies in this mapping of a process. */
int is_touched(const struct touched *touched, pid_t pid, uint64_t start, uint64_t length);
/* Whether a process has samples with addresses of its own. */
int is_sampled(const struct touched *touched, pid_t pid);

#endif
