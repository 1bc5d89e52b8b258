/* events.h: perf events of the kernel without perf: what `events` opens, reads and writes. */
#ifndef PERFCASE_EVENTS_H
#define PERFCASE_EVENTS_H

#include "perf_file.h"
#include "targets.h"

#include <linux/perf_event.h>
#include <poll.h>

/* The buffer of one CPU, which the kernel writes. */
struct ring {
	int cpu;
	struct perf_event_mmap_page *page; /* NULL: none yet */
	char *data;
	size_t bytes; /* of the data: a power of two */
	int *files; /* the counters that write here */
	size_t count;
	size_t polled; /* of files: the first whose thread lives */
};

/* The events, on all CPUs: of everything, of a control group, or of threads and what they start. */
struct events {
	struct perf_event list[EVENTS_MOST];
	size_t count;
	size_t tracking; /* how many of them, the first, say what threads and mappings there are: 0 or 1, into rings of their own */
	struct targets targets;
	struct ring *rings, *side; /* by CPU; side: those of tracking events, or NULL */
	size_t cpu_count;
};

/* Chooses the events: SAMPLER is "cycles" or "cpu-clock", perhaps with ":u", or "-"; STACKS "fp" or "dwarf,BYTES"; a
 * system:event a line in the file TRACEPOINTS. What this kernel does not know is left out. */
void events_choose(struct events *events, const char *sampler, const char *stacks, const char *tracepoints);
/* The same into rings that forget the oldest, with what is known of threads and mappings beside them. */
void events_make_overwrite(struct events *events);
/* Opens them, switched off. Dies with the reason where none can be. */
void events_open(struct events *events, size_t ring_bytes, size_t side_bytes);
/* Switches on the first, which tells what begins and is mapped from now on; then, what is there can be described. */
void events_track(struct events *events);
void events_switch(int is_on);

/* Writes what comes until a signal, and what threads and mappings there are if an event tells of them. Returns the exit status. */
int events_stream(struct events *events, const char *out, const char *ready, char **command);
/* One more event, not chosen any further. */
struct perf_event *events_add(struct events *events, const char *name, uint32_t type, uint64_t config);
/* How callers are found: STACKS as above. */
void events_choose_stacks(struct events *events, const char *stacks);
/* A power of two, so that the buffers are not larger than asked for. */
size_t ring_size(int64_t bytes);

/* The CPUs that are on. Returns how many. */
size_t list_cpus(int **cpus);
/* As many open files as this process may have: each thread has a counter of each event on each CPU. */
void raise_file_limit(void);
/* Dies with why an event cannot be opened. */
void refuse_event(const char *name, int error) __attribute__((noreturn));

/* What takes whole records. */
typedef void record_sink(void *context, const struct iovec *pieces, int count);

/* Gives what the kernel has added to a ring since the last call, and the room back. Returns bytes. */
size_t ring_read(struct ring *ring, record_sink *sink, void *context);
/* Gives the records of an overwritten ring that are whole, the oldest first. The kernel waits meanwhile: what it has then is lost. */
void ring_read_overwritten(const struct ring *ring, record_sink *sink, void *context);
/* Waits until a ring is a quarter full, a signal, or the time is over. */
void rings_wait(struct ring *rings, size_t count, int wait_ms);

/* Records of what there is already: the kernel, and the targets with their threads and mappings. As perf's, they have no time. */
void describe_kernel(record_sink *sink, void *context);
void describe_processes(const struct events *events, record_sink *sink, void *context);

/* The records of threads and mappings in a bounded memory: what ended first is forgotten first. */
struct side {
	struct buffer records;
	size_t most_bytes;
	uint64_t forgotten; /* records of threads that may live, also those that the kernel had no room for */
};

record_sink side_add; /* its context is a struct side */

#endif
