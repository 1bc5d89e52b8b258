/* perf_file.h: writes a perf.data of version 2 (tools/perf/Documentation/perf.data-file-format.txt of the Linux source). */
#ifndef PERFCASE_PERF_FILE_H
#define PERFCASE_PERF_FILE_H

#include "util.h"

#include <linux/perf_event.h>
#include <sys/uio.h>

enum { EVENTS_MOST = 48, FEATURES_MOST = 32 };

/* Records that perf itself writes among the kernel's. */
enum { RECORD_FINISHED_ROUND = 68 };

/* One event: its settings, its name, and its counters, one a CPU and thread: their files, and their numbers of the kernel. */
struct perf_event {
	struct perf_event_attr attr;
	char *name; /* system:event for a tracepoint */
	int *files;
	uint64_t *ids;
	size_t count;
};

struct perf_file {
	int fd;
	const char *path;
	uint64_t head[13]; /* as it lies in the file */
	uint64_t features[FEATURES_MOST][2]; /* offset and size, in the order of their numbers */
	size_t feature_count;
	uint64_t feature_bits;
	uint64_t data_bytes, last_bytes; /* of all records; of those that were added last */
	int is_whole; /* nothing was added since */
};

/* Writes all but the records: a recorder that is killed leaves a file whose records can be read. Dies where it cannot. */
void perf_file_create(struct perf_file *file, const char *path, const struct perf_event *events, size_t count, char **command);
/* Adds whole records. 0, or -1 and errno: then nothing of them is in the file. */
int perf_file_add(struct perf_file *file, const struct iovec *pieces, int count);
/* Writes how many records there are, and what perf has behind them. 0, or -1 and errno; the file may be whole even so. */
int perf_file_make_whole(struct perf_file *file);

void buffer_add_bytes(struct buffer *buffer, const void *bytes, size_t count);

/* What reads raw tracepoints needs: perf's copy of the formats in tracefs. Nothing is added where there are none. */
void add_tracing_data(struct buffer *out, const struct perf_event *events, size_t count);
/* The number of a tracepoint, "system:event"; -1 where the kernel has none, or does not show it. */
int64_t tracepoint_number(const char *name);

#endif
