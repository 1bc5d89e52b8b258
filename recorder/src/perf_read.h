/* perf_read.h: the records of a perf.data of this machine, one after the other, in one pass. */
#ifndef PERFCASE_PERF_READ_H
#define PERFCASE_PERF_READ_H

#include "perf_stream.h"

#include <stddef.h>
#include <stdint.h>

/* Record types of include/uapi/linux/perf_event.h and, from 64, of tools/perf/util/event.h. */
enum {
	RECORD_MMAP = 1, RECORD_LOST = 2, RECORD_FORK = 7, RECORD_SAMPLE = 9, RECORD_MMAP2 = 10, RECORD_LOST_SAMPLES = 13,
	RECORD_AUXTRACE = 71, RECORD_COMPRESSED = 81, RECORD_COMPRESSED2 = 83,
};

struct perf_record {
	uint32_t type;
	uint16_t misc;
	uint16_t size;
};

struct perf_reader {
	struct perf_stream stream;
	char *head; /* what comes before the records */
	uint64_t head_bytes;
	uint64_t attr_size, attrs_at, attrs_bytes, features;
	uint64_t at, end; /* of the records; the end is UINT64_MAX in a file that perf was killed on */
	struct perf_record record;
	char *body; /* what follows the record's head; behind its last byte is a zero of ours */
	size_t length;
};

/* Opens a file, also one that is being compressed (perf_stream.h). NULL, or what is wrong. */
const char *perf_open(struct perf_reader *perf, const char *path);
/* The next record, or 0 at the end. */
int perf_next(struct perf_reader *perf);
/* Whether the records ended before the file's head says. */
int perf_is_cut(const struct perf_reader *perf);
/* Reads before the records, or behind where the last reading ended; then perf_next() is over. 0, or -1. */
int perf_read_at(struct perf_reader *perf, uint64_t offset, void *data, size_t length);
void perf_close(struct perf_reader *perf);

#endif
