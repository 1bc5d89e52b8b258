/* perf_stream.h: a perf.data from its begin to its end, also one that was compressed while it was recorded. */
#ifndef PERFCASE_PERF_STREAM_H
#define PERFCASE_PERF_STREAM_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct perf_stream {
	FILE *file;
	pid_t zstd; /* 0: a plain file */
	uint64_t at;
};

/* Opens PATH, or PATH.zst by the host's zstd. 0, or -1 with errno. */
int perf_stream_open(struct perf_stream *stream, const char *path);
int perf_stream_read(struct perf_stream *stream, void *data, size_t length);
/* Forward only. */
int perf_stream_go(struct perf_stream *stream, uint64_t to);
void perf_stream_close(struct perf_stream *stream);

#endif
