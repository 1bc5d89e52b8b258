/* perf_file.h: the records of a perf.data of this machine, one after the other, in one pass. */
#ifndef PERFCASE_PERF_FILE_H
#define PERFCASE_PERF_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

struct perf_file {
	FILE *file;
	uint64_t attr_size, attrs_at, attrs_bytes, features;
	uint64_t at, end; /* of the records; the end is UINT64_MAX in a file that perf was killed on */
	struct perf_record record;
	char *body; /* what follows the record's head; behind its last byte is a zero of ours */
	size_t length;
};

/* NULL, or what is wrong. */
const char *perf_open(struct perf_file *perf, const char *path);
/* The next record, or 0 at the end. */
int perf_next(struct perf_file *perf);
/* Whether the records ended before the file's head says. */
int perf_is_cut(const struct perf_file *perf);
/* Reads elsewhere in the file; perf_next() is over then. 0, or -1. */
int perf_read_at(struct perf_file *perf, uint64_t offset, void *data, size_t length);
void perf_close(struct perf_file *perf);

#endif
