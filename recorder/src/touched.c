/* touched.c: the addresses of samples and callchains (include/uapi/linux/perf_event.h, PERF_RECORD_SAMPLE), as a set of pages.
 * A page is not followed in time: it touches whatever the process, or one that it was forked from, ever had there. That is never
 * too little, and needs no order of the records, which perf writes a CPU at a time. */
#define _GNU_SOURCE
#include "touched.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

enum {
	SAMPLE_IP = 1 << 0, SAMPLE_TID = 1 << 1, SAMPLE_TIME = 1 << 2, SAMPLE_ADDR = 1 << 3, SAMPLE_READ = 1 << 4,
	SAMPLE_CALLCHAIN = 1 << 5, SAMPLE_ID = 1 << 6, SAMPLE_CPU = 1 << 7, SAMPLE_PERIOD = 1 << 8, SAMPLE_STREAM_ID = 1 << 9,
	SAMPLE_RAW = 1 << 10, SAMPLE_BRANCH_STACK = 1 << 11, SAMPLE_STACK_USER = 1 << 13, SAMPLE_IDENTIFIER = 1 << 16,
	READ_ENABLED = 1 << 0, READ_RUNNING = 1 << 1, READ_ID = 1 << 2, READ_GROUP = 1 << 3, READ_LOST = 1 << 4,
	BRANCH_HW_INDEX = 1 << 17,
	ATTR_LEAST = 64, ATTR_MOST = 4096, IDS_MOST = 1 << 16,
	PAGE_BITS = 12, PID_SHIFT = 42, KEYS_MOST = 1 << 22, EDGES_MOST = 1 << 22,
};
/* All that a process has mapped. Pages that lie so high are not noted. */
static const uint64_t every_page = (1ull << PID_SHIFT) - 1;

struct layout {
	uint64_t id, sample_type, read_format, branch_type;
};

struct edge {
	uint32_t parent, next; /* an index + 1 */
};

static void doubt(struct touched *touched, const char *reason)
{
	if (!touched->doubt)
		touched->doubt = reason;
}

static int by_id(const void *left, const void *right)
{
	uint64_t a = ((const struct layout *)left)->id, b = ((const struct layout *)right)->id;

	return (a > b) - (a < b);
}

/* The event's layout, for each of its ids. False: the file's head is no such head. */
static int take_attr(struct touched *touched, struct perf_reader *perf, uint64_t at)
{
	uint64_t attr[10] = { 0 }, section[2]; /* type and size, config, period, sample_type, read_format, ..., branches */
	size_t length = perf->attr_size - sizeof section, count;
	static uint64_t ids[IDS_MOST];

	if (perf_read_at(perf, at, attr, length < sizeof attr ? length : sizeof attr) ||
	    perf_read_at(perf, at + length, section, sizeof section))
		return 0;
	count = section[1] >= sizeof *ids ? section[1] / sizeof *ids : 1; /* one event alone may have no id */
	if (count > IDS_MOST - touched->layout_count || (section[1] && perf_read_at(perf, section[0], ids, count * sizeof *ids)))
		return 0;
	touched->layouts = checked_realloc(touched->layouts, (touched->layout_count + count) * sizeof *touched->layouts);
	for (size_t i = 0; i < count; i++)
		touched->layouts[touched->layout_count++] =
			(struct layout){ section[1] ? ids[i] : 0, attr[3], attr[4], attr[9] };
	return 1;
}

void touched_begin(struct touched *touched, struct perf_reader *perf)
{
	const struct layout *first;

	touched->layout_count = 0;
	touched->is_by_id = 1;
	if (perf->attr_size < ATTR_LEAST + 16 || perf->attr_size > ATTR_MOST || perf->attrs_bytes / perf->attr_size > IDS_MOST) {
		doubt(touched, "the list of events is damaged");
		return;
	}
	for (uint64_t at = 0; at + perf->attr_size <= perf->attrs_bytes; at += perf->attr_size)
		if (!take_attr(touched, perf, perf->attrs_at + at)) {
			doubt(touched, "the list of events is damaged");
			return;
		}
	if (!touched->layout_count)
		return; /* no events: no samples */
	first = touched->layouts;
	for (size_t i = 0; i < touched->layout_count; i++)
		touched->is_by_id &= touched->layouts[i].sample_type >> 16 & 1;
	for (size_t i = 0; i < touched->layout_count && !touched->is_by_id; i++)
		if (touched->layouts[i].sample_type != first->sample_type || touched->layouts[i].read_format != first->read_format ||
		    touched->layouts[i].branch_type != first->branch_type)
			doubt(touched, "samples do not say of which event they are");
	qsort(touched->layouts, touched->layout_count, sizeof *first, by_id);
}

static size_t slot_of(const struct touched *touched, uint64_t key)
{
	uint64_t hash = key * 0x9e3779b97f4a7c15u;
	size_t slot = (hash >> 32) & (touched->slot_count - 1);

	while (touched->keys[slot] && touched->keys[slot] != key)
		slot = (slot + 1) & (touched->slot_count - 1);
	return slot;
}

static void grow(struct touched *touched)
{
	struct touched old = *touched;

	touched->slot_count = old.slot_count ? old.slot_count * 2 : 4096;
	if (!(touched->keys = calloc(touched->slot_count, sizeof *touched->keys)))
		die("out of memory");
	for (size_t i = 0; i < old.slot_count; i++)
		if (old.keys[i])
			touched->keys[slot_of(touched, old.keys[i])] = old.keys[i];
	free(old.keys);
}

/* False where it was there. */
static int put(struct touched *touched, uint32_t pid, uint64_t page)
{
	uint64_t key = (uint64_t)pid << PID_SHIFT | page;
	size_t slot;

	if (touched->count * 2 >= touched->slot_count) {
		if (touched->count >= KEYS_MOST) {
			doubt(touched, "too many different addresses");
			return 0;
		}
		grow(touched);
	}
	slot = slot_of(touched, key);
	if (touched->keys[slot])
		return 0;
	touched->keys[slot] = key;
	touched->count++;
	return 1;
}

/* Above are the kernel, marks between parts of a callchain, and what is no address: code without frame pointers leads anywhere. */
static void put_address(struct touched *touched, uint32_t pid, uint64_t address)
{
	uint64_t page = address >> PAGE_BITS;

	if (page >= every_page)
		return;
	put(touched, pid, page);
	/* where a function returns to may be just behind a mapping */
	if (!(address & ((1 << PAGE_BITS) - 1)) && page)
		put(touched, pid, page - 1);
}

/* What is left of a sample. */
struct rest {
	const char *at;
	size_t length;
	int is_short;
};

static uint64_t next_word(struct rest *rest)
{
	uint64_t word = 0;

	if (rest->length < sizeof word) {
		rest->is_short = 1;
		return 0;
	}
	memcpy(&word, rest->at, sizeof word);
	rest->at += sizeof word;
	rest->length -= sizeof word;
	return word;
}

static void skip_words(struct rest *rest, uint64_t count)
{
	if (count > rest->length / 8)
		rest->is_short = 1, count = rest->length / 8;
	rest->at += count * 8;
	rest->length -= count * 8;
}

static int bits_of(uint64_t value)
{
	return __builtin_popcountll(value);
}

static void skip_read(struct rest *rest, uint64_t format)
{
	uint64_t times = (uint64_t)bits_of(format & (READ_ENABLED | READ_RUNNING));
	uint64_t each = 1 + (uint64_t)bits_of(format & (READ_ID | READ_LOST));

	if (!(format & READ_GROUP)) {
		skip_words(rest, each + times);
		return;
	}
	uint64_t count = next_word(rest);

	skip_words(rest, times);
	skip_words(rest, count > rest->length ? rest->length : count * each); /* the first is too many as well */
}

static void take_addresses(struct touched *touched, const struct layout *layout, struct rest *rest)
{
	uint64_t type = layout->sample_type, ip = 0, address = 0, count;
	uint32_t pid = 0;

	skip_words(rest, type & SAMPLE_IDENTIFIER ? 1 : 0);
	if (type & SAMPLE_IP)
		ip = next_word(rest);
	if (type & SAMPLE_TID)
		pid = (uint32_t)next_word(rest);
	skip_words(rest, type & SAMPLE_TIME ? 1 : 0);
	if (type & SAMPLE_ADDR)
		address = next_word(rest);
	if (!pid || pid >= PID_MOST)
		return; /* the idle task, or one that is gone: nothing of a user's */
	put_address(touched, pid, ip);
	put_address(touched, pid, address);
	if (type & SAMPLE_STACK_USER)
		put(touched, pid, every_page); /* a copied stack: any unwind table may be needed for it */
	skip_words(rest, (uint64_t)bits_of(type & (SAMPLE_ID | SAMPLE_STREAM_ID | SAMPLE_CPU | SAMPLE_PERIOD)));
	if (type & SAMPLE_READ)
		skip_read(rest, layout->read_format);
	for (count = type & SAMPLE_CALLCHAIN ? next_word(rest) : 0; count && !rest->is_short; count--)
		put_address(touched, pid, next_word(rest));
	if (!(type & SAMPLE_BRANCH_STACK))
		return;
	if (type & SAMPLE_RAW) {
		uint32_t size = 0;

		if (rest->length >= sizeof size)
			memcpy(&size, rest->at, sizeof size);
		skip_words(rest, ((uint64_t)size + sizeof size + 7) / 8);
	}
	count = next_word(rest);
	skip_words(rest, layout->branch_type & BRANCH_HW_INDEX ? 1 : 0);
	for (; count && !rest->is_short; count--) {
		put_address(touched, pid, next_word(rest));
		put_address(touched, pid, next_word(rest));
		skip_words(rest, 1);
	}
}

static void take_sample(struct touched *touched, const struct perf_reader *perf)
{
	struct rest rest = { perf->body, perf->length, 0 };
	const struct layout *layout = touched->layout_count ? touched->layouts : NULL;

	if (layout && touched->is_by_id) {
		struct layout wanted = { .id = 0 };

		memcpy(&wanted.id, perf->body, perf->length < sizeof wanted.id ? perf->length : sizeof wanted.id);
		layout = bsearch(&wanted, touched->layouts, touched->layout_count, sizeof wanted, by_id);
	}
	if (layout)
		take_addresses(touched, layout, &rest);
	else
		doubt(touched, "a sample is of no event in the list");
	if (rest.is_short)
		doubt(touched, "a sample is damaged");
}

static void take_fork(struct touched *touched, const struct perf_reader *perf)
{
	uint32_t pids[2]; /* the child's, the parent's */

	if (perf->length < sizeof pids)
		return;
	memcpy(pids, perf->body, sizeof pids);
	if (pids[0] == pids[1] || pids[0] >= PID_MOST || !pids[1] || pids[1] >= PID_MOST)
		return; /* a thread, or what the kernel started */
	if (!touched->parents && !(touched->parents = calloc(PID_MOST, sizeof *touched->parents)))
		die("out of memory");
	if (touched->parents[pids[0]] && touched->edges[touched->parents[pids[0]] - 1].parent == pids[1])
		return;
	if (touched->edge_count == EDGES_MOST) {
		doubt(touched, "too many processes");
		return;
	}
	if (!(touched->edge_count & (touched->edge_count - 1)))
		touched->edges = checked_realloc(touched->edges, (touched->edge_count ? touched->edge_count * 2 : 1) *
									 sizeof *touched->edges);
	touched->edges[touched->edge_count++] = (struct edge){ pids[1], touched->parents[pids[0]] };
	touched->parents[pids[0]] = (uint32_t)touched->edge_count;
}

void touched_record(struct touched *touched, const struct perf_reader *perf)
{
	if (perf->record.type == RECORD_COMPRESSED || perf->record.type == RECORD_COMPRESSED2)
		doubt(touched, "its records are compressed");
	else if (perf->record.type == RECORD_FORK)
		take_fork(touched, perf);
	else if (perf->record.type == RECORD_SAMPLE && !touched->doubt)
		take_sample(touched, perf);
}

static int by_key(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

void touched_end(struct touched *touched)
{
	uint64_t *list = checked_realloc(NULL, KEYS_MOST * sizeof *list); /* what is not used of it takes no memory */
	size_t count = 0;

	for (size_t i = 0; i < touched->slot_count; i++)
		if (touched->keys[i])
			list[count++] = touched->keys[i];
	/* the list grows by each page that is new to a parent, and those go on to its own parents */
	for (size_t i = 0; i < count && touched->parents && !touched->doubt; i++)
		for (uint32_t edge = touched->parents[list[i] >> PID_SHIFT]; edge; edge = touched->edges[edge - 1].next) {
			uint64_t page = list[i] & every_page, pid = touched->edges[edge - 1].parent;

			if (put(touched, (uint32_t)pid, page))
				list[count++] = pid << PID_SHIFT | page;
		}
	free(touched->keys);
	touched->keys = list;
	qsort(list, count, sizeof *list, by_key);
	touched->count = count;
}

/* Whether a key from `from` to below `to` is there. */
static int has_between(const struct touched *touched, uint64_t from, uint64_t to)
{
	size_t low = 0, high = touched->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (touched->keys[middle] < from)
			low = middle + 1;
		else
			high = middle;
	}
	return low < touched->count && touched->keys[low] < to;
}

int is_touched(const struct touched *touched, pid_t pid, uint64_t start, uint64_t length)
{
	uint64_t process = (uint64_t)pid << PID_SHIFT, first = start >> PAGE_BITS, last = (start + length - 1) >> PAGE_BITS;

	if (touched->doubt || has_between(touched, process | every_page, (process | every_page) + 1))
		return 1;
	if (!length || last < first)
		return 0;
	if (last >= every_page)
		return 1; /* with five levels of page tables, and where a program asks for it: no page of it is noted */
	return has_between(touched, process | first, (process | last) + 1);
}

int is_sampled(const struct touched *touched, pid_t pid)
{
	uint64_t process = (uint64_t)pid << PID_SHIFT;

	return touched->doubt || has_between(touched, process, (process | every_page) + 1);
}
