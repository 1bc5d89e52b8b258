/* perf_cut.c: of what perf record --overwrite left in its buffers, the last so many ns that no CPU lacks. Records of mappings, names
 * and processes stay, as they are about what comes later too. The file is of this machine: include/uapi/linux/perf_event.h. */
#define _GNU_SOURCE
#include "ring.h"
#include "util.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORD_MOST = 65536, CPUS_MOST = 8192, WORD = 8, KERNEL_RECORDS = 64 };

struct section {
	uint64_t at, bytes;
};

/* struct perf_file_header of tools/perf/util/header.h */
struct file_head {
	char magic[8];
	uint64_t bytes, attr_bytes;
	struct section attrs, data, event_types;
	uint64_t features[4];
};

struct cutter {
	const char *path;
	FILE *in;
	struct file_head head;
	uint64_t sample_type;
	union {
		struct perf_event_header head;
		char bytes[RECORD_MOST];
	} record;
	struct {
		uint64_t bytes, first_ns;
	} cpus[CPUS_MOST];
};

static void damaged(const struct cutter *cutter, const char *what)
{
	die("%s: %s", cutter->path, what);
}

static void take_at(struct cutter *cutter, uint64_t at, void *to, size_t bytes)
{
	if (fseeko(cutter->in, (off_t)at, SEEK_SET) || fread(to, bytes, 1, cutter->in) != 1)
		damaged(cutter, "ends too early");
}

/* What stands before the time and the CPU in a record has to be the same for all events. */
static void read_sample_type(struct cutter *cutter)
{
	const uint64_t places = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
				PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU;
	struct perf_event_attr attr;

	if (cutter->head.attr_bytes < PERF_ATTR_SIZE_VER0)
		damaged(cutter, "its events are not described");
	for (uint64_t at = 0; at < cutter->head.attrs.bytes; at += cutter->head.attr_bytes) {
		take_at(cutter, cutter->head.attrs.at + at, &attr, PERF_ATTR_SIZE_VER0);
		if (at && (attr.sample_type & places) != cutter->sample_type)
			damaged(cutter, "its events have their times at different places");
		cutter->sample_type = attr.sample_type & places;
	}
	if (~cutter->sample_type & (PERF_SAMPLE_TIME | PERF_SAMPLE_CPU))
		damaged(cutter, "its records have no time or no CPU");
}

static int words(uint64_t sample_type, uint64_t fields)
{
	return __builtin_popcountll(sample_type & fields);
}

/* The time and the CPU of a record; time 0: perf made it up itself. */
static uint64_t record_time(const struct cutter *cutter, uint32_t *cpu)
{
	const struct perf_event_header *head = &cutter->record.head;
	uint64_t type = cutter->sample_type, time_ns;
	size_t time_at, cpu_at;

	if (head->type == PERF_RECORD_SAMPLE) {
		time_at = sizeof *head + WORD * words(type, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID);
		cpu_at = time_at + WORD + WORD * words(type, PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID);
	} else {
		cpu_at = head->size - WORD - WORD * words(type, PERF_SAMPLE_IDENTIFIER);
		time_at = cpu_at - WORD - WORD * words(type, PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID);
	}
	*cpu = CPUS_MOST;
	if (head->type >= KERNEL_RECORDS || time_at >= head->size || cpu_at >= head->size)
		return 0;
	memcpy(&time_ns, cutter->record.bytes + time_at, sizeof time_ns);
	memcpy(cpu, cutter->record.bytes + cpu_at, sizeof *cpu);
	return time_ns;
}

static int next_record(struct cutter *cutter, uint64_t *left)
{
	struct perf_event_header *head = &cutter->record.head;

	if (*left < sizeof *head)
		return 0;
	if (fread(head, sizeof *head, 1, cutter->in) != 1 || head->size < sizeof *head || head->size > *left ||
	    (head->size > sizeof *head && fread(head + 1, head->size - sizeof *head, 1, cutter->in) != 1))
		damaged(cutter, "ends inside a record");
	*left -= head->size;
	return 1;
}

static void seek_records(struct cutter *cutter)
{
	if (fseeko(cutter->in, (off_t)cutter->head.data.at, SEEK_SET))
		damaged(cutter, strerror(errno));
}

/* A CPU with nearly as many bytes as its buffer has room for has overwritten what was before its first record. */
static uint64_t complete_since(struct cutter *cutter, uint64_t from_ns, uint64_t buffer_bytes)
{
	uint64_t left = cutter->head.data.bytes;
	uint32_t cpu;

	for (seek_records(cutter); next_record(cutter, &left);) {
		uint64_t time_ns = record_time(cutter, &cpu);

		if (!time_ns || cpu >= CPUS_MOST)
			continue;
		cutter->cpus[cpu].bytes += cutter->record.head.size;
		if (!cutter->cpus[cpu].first_ns || time_ns < cutter->cpus[cpu].first_ns)
			cutter->cpus[cpu].first_ns = time_ns;
	}
	for (cpu = 0; cpu < CPUS_MOST; cpu++)
		if (cutter->cpus[cpu].bytes + RECORD_MOST > buffer_bytes && cutter->cpus[cpu].first_ns > from_ns)
			from_ns = cutter->cpus[cpu].first_ns;
	return from_ns;
}

static void copy_rest(struct cutter *cutter, FILE *out)
{
	size_t got;

	while ((got = fread(cutter->record.bytes, 1, sizeof cutter->record, cutter->in)) > 0)
		fwrite(cutter->record.bytes, 1, got, out);
}

/* What follows the records: a list of places in the file, and what is there. */
static void move_features(struct cutter *cutter, FILE *out, uint64_t removed)
{
	uint64_t end = cutter->head.data.at + cutter->head.data.bytes;
	struct section section;

	for (int word = 0; word < 4; word++)
		for (uint64_t bits = cutter->head.features[word]; bits; bits &= bits - 1) {
			if (fread(&section, sizeof section, 1, cutter->in) != 1)
				damaged(cutter, "ends too early");
			if (section.at >= end)
				section.at -= removed;
			fwrite(&section, sizeof section, 1, out);
		}
	copy_rest(cutter, out);
}

/* cut-perf FILE BUFFER_BYTES EARLIEST_NS FROM_FILE: removes samples before EARLIEST_NS, or before the moment since when all CPUs have
 * theirs: each had a buffer of so many bytes. */
int command_cut_perf(int argc, char **argv)
{
	static struct cutter cutter;
	char new_path[4096];
	uint64_t from_ns, left, removed = 0;
	uint32_t cpu;
	FILE *out;

	if (argc != 5)
		die("usage: cut-perf FILE BUFFER_BYTES EARLIEST_NS FROM_FILE");
	cutter.path = argv[1];
	if (!(cutter.in = fopen(argv[1], "re")))
		die("%s: %s", argv[1], strerror(errno));
	take_at(&cutter, 0, &cutter.head, sizeof cutter.head);
	if (memcmp(cutter.head.magic, "PERFILE2", 8) || !cutter.head.data.bytes)
		damaged(&cutter, "perf did not finish it");
	read_sample_type(&cutter);
	from_ns = complete_since(&cutter, (uint64_t)parse_integer(argv[3]), (uint64_t)parse_integer(argv[2]));
	if (!(out = fopen(format_path(new_path, sizeof new_path, "%s.new", argv[1]), "we")))
		die("%s: %s", new_path, strerror(errno));
	rewind(cutter.in);
	for (uint64_t i = 0; i < cutter.head.data.at; i++)
		putc(getc(cutter.in), out);
	for (left = cutter.head.data.bytes; next_record(&cutter, &left);)
		if (cutter.record.head.type == PERF_RECORD_SAMPLE && record_time(&cutter, &cpu) < from_ns)
			removed += cutter.record.head.size;
		else
			fwrite(&cutter.record, cutter.record.head.size, 1, out);
	move_features(&cutter, out, removed);
	cutter.head.data.bytes -= removed;
	rewind(out);
	fwrite(&cutter.head, sizeof cutter.head, 1, out);
	if (ferror(out) || fclose(out) || rename(new_path, argv[1])) {
		unlink(new_path);
		die("%s: %s", new_path, strerror(errno));
	}
	put_from(argv[4], (int64_t)from_ns);
	return 0;
}
