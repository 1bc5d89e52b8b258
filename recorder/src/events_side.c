/* events_side.c: keeps the records of threads and mappings of a long recording in a bounded memory. */
#define _GNU_SOURCE
#include "events.h"

#include <stdlib.h>
#include <string.h>

enum { PID_MOST = 1 << 22 };

/* What each record ends in (sample_id_all): pid and tid, time, CPU, number. */
enum { TIME_FROM_END = 24 };

/* One record: its place in the buffer, and what orders it. */
struct entry {
	uint64_t time;
	size_t place;
};

static const struct perf_event_header *header_at(const struct side *side, size_t place)
{
	return (const struct perf_event_header *)(side->records.data + place);
}

/* The thread that a record tells of; the process for a mapping; 0 for others. */
static uint32_t subject(const struct perf_event_header *header)
{
	const uint32_t *body = (const uint32_t *)(header + 1);

	switch (header->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return body[0]; /* pid, tid, … */
	case PERF_RECORD_COMM:
		return body[1]; /* pid, tid, … */
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return body[2]; /* pid, ppid, tid, ptid, … */
	default:
		return 0;
	}
}

static int by_time(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->place < b->place ? -1 : 1;
}

/* All records in the order of time: the rings of the CPUs were read one after the other. Returns how many are exits. */
static size_t list_entries(const struct side *side, struct entry **entries, size_t *count)
{
	size_t capacity = 0, exits = 0;

	*entries = NULL;
	*count = 0;
	for (size_t place = 0; place < side->records.length; place += header_at(side, place)->size) {
		const struct perf_event_header *header = header_at(side, place);
		struct entry entry = { .place = place };

		memcpy(&entry.time, (const char *)header + header->size - TIME_FROM_END, sizeof entry.time);
		if (*count == capacity) {
			capacity = capacity ? capacity * 2 : 4096;
			*entries = checked_realloc(*entries, capacity * sizeof entry);
		}
		(*entries)[(*count)++] = entry;
		exits += header->type == PERF_RECORD_EXIT;
	}
	qsort(*entries, *count, sizeof **entries, by_time);
	return exits;
}

/* Goes back in time, and takes out of the list what is of threads that are among the first half of those that ended. */
static void forget_ended(const struct side *side, struct entry *entries, size_t count, size_t exits)
{
	unsigned char *has_ended = checked_realloc(NULL, PID_MOST / 8);
	size_t forgotten = exits / 2;

	memset(has_ended, 0, PID_MOST / 8);
	while (count--) {
		const struct perf_event_header *header = header_at(side, entries[count].place);
		uint32_t who = subject(header);

		if (!who || who >= PID_MOST)
			continue;
		if (header->type == PERF_RECORD_EXIT && exits-- <= forgotten)
			has_ended[who / 8] |= (unsigned char)(1 << who % 8);
		if (!(has_ended[who / 8] >> who % 8 & 1))
			continue;
		entries[count].place = SIZE_MAX;
		if (header->type == PERF_RECORD_FORK) /* what comes before is of another with the same number */
			has_ended[who / 8] &= (unsigned char)~(1 << who % 8);
	}
	free(has_ended);
}

static void forget(struct side *side)
{
	struct buffer kept = { NULL, 0, 0 };
	size_t count, left = 0, exits;
	struct entry *entries;

	exits = list_entries(side, &entries, &count);
	forget_ended(side, entries, count, exits);
	for (size_t i = 0; i < count; i++)
		if (entries[i].place != SIZE_MAX)
			left += header_at(side, entries[i].place)->size;
	for (size_t i = 0; i < count; i++) {
		const struct perf_event_header *header;

		if (entries[i].place == SIZE_MAX)
			continue;
		header = header_at(side, entries[i].place);
		/* so much lives that the oldest has to go */
		if (left > side->most_bytes / 4 * 3) {
			left -= header->size;
			side->forgotten++;
		} else {
			buffer_add_bytes(&kept, header, header->size);
		}
	}
	free(entries);
	free(side->records.data);
	side->records = kept;
}

void side_add(void *context, const struct iovec *pieces, int count)
{
	struct side *side = context;
	size_t place = side->records.length;

	for (int i = 0; i < count; i++)
		buffer_add_bytes(&side->records, pieces[i].iov_base, pieces[i].iov_len);
	for (; place < side->records.length; place += header_at(side, place)->size)
		if (header_at(side, place)->type == PERF_RECORD_LOST)
			side->forgotten += ((const uint64_t *)(header_at(side, place) + 1))[1]; /* number, lost */
	if (side->records.length > side->most_bytes)
		forget(side);
}
