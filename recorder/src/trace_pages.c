/* trace_pages.c: Documentation/trace/ring-buffer-design.rst and include/linux/ring_buffer.h of the kernel: a page is a time, the number
 * of bytes in use, and events, each with the time since the one before. */
#define _GNU_SOURCE
#include "trace_pages.h"
#include "util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PADDING = 29, TIME_EXTEND = 30, TIME_STAMP = 31, TIME_BITS = 27, HEAD_BYTES = 4 };
static const uint64_t commit_mask = (1 << 27) - 1; /* above it: whether events were lost before the page */
static const uint64_t absolute_high_bits = 0x1fULL << 59;

/* An event of a page. */
struct event {
	size_t at, bytes;
	uint64_t time_ns;
	int has_data;
};

int page_layout_read(struct page_layout *layout, const char *header_page)
{
	const char *commit = strstr(header_page, "commit;"), *data = strstr(header_page, "data;");

	return commit && data && sscanf(commit, "commit; offset:%zu; size:%zu", &layout->commit_at, &layout->commit_bytes) == 2 &&
			       sscanf(data, "data; offset:%zu", &layout->data_at) == 1 &&
			       (layout->commit_bytes == 4 || layout->commit_bytes == 8) &&
			       layout->commit_at + layout->commit_bytes <= layout->data_at && layout->data_at < layout->page_bytes
		       ? 0
		       : -1;
}

int64_t pages_begin_ns(int file)
{
	int64_t time_ns;

	return pread(file, &time_ns, sizeof time_ns, 0) == sizeof time_ns ? time_ns : -1;
}

static size_t used_end(const struct page_layout *layout, const char *page)
{
	uint64_t used = 0;
	uint32_t word;
	size_t end;

	if (layout->commit_bytes == 4) {
		memcpy(&word, page + layout->commit_at, sizeof word);
		used = word;
	} else {
		memcpy(&used, page + layout->commit_at, sizeof used);
	}
	end = layout->data_at + (used & commit_mask);
	return end > layout->page_bytes ? layout->page_bytes : end;
}

/* The event behind `event`, which is all zero but its time before the first. 0 at the end of the page. */
static int next_event(const struct page_layout *layout, const char *page, size_t end, struct event *event)
{
	uint32_t head, extra = 0, kind, delta;

	event->at = event->bytes ? event->at + event->bytes : layout->data_at;
	if (event->at + HEAD_BYTES > end)
		return 0;
	memcpy(&head, page + event->at, sizeof head);
	if (event->at + 2 * HEAD_BYTES <= end)
		memcpy(&extra, page + event->at + HEAD_BYTES, sizeof extra);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	kind = head >> TIME_BITS, delta = head & ((1u << TIME_BITS) - 1);
#else
	kind = head & 31, delta = head >> 5;
#endif
	event->has_data = kind < PADDING;
	if (kind == PADDING && !delta)
		return 0; /* the rest of the page is empty */
	if (kind == TIME_STAMP)
		event->time_ns = (event->time_ns & absolute_high_bits) | (((uint64_t)extra << TIME_BITS) + delta);
	else
		event->time_ns += kind == TIME_EXTEND ? ((uint64_t)extra << TIME_BITS) + delta : delta;
	if (kind == TIME_EXTEND || kind == TIME_STAMP)
		event->bytes = 2 * HEAD_BYTES;
	else
		event->bytes = HEAD_BYTES + (kind && kind != PADDING ? kind * 4 : extra);
	return event->bytes <= end - event->at;
}

/* Removes the events before `from_ns` from a page. Returns how many are left. */
static long long cut_page(const struct page_layout *layout, char *page, uint64_t from_ns)
{
	size_t end = used_end(layout, page), first = 0;
	struct event event = { .bytes = 0 };
	uint64_t first_ns = 0, used;
	uint32_t head;
	long long count = 0;

	memcpy(&event.time_ns, page, sizeof event.time_ns);
	while (next_event(layout, page, end, &event)) {
		if (!event.has_data || event.time_ns < from_ns)
			continue;
		if (!count++)
			first = event.at, first_ns = event.time_ns;
	}
	if (!count)
		return 0;
	/* the page begins with the time of that event, and says nothing of what was before */
	memmove(page + layout->data_at, page + first, end - first);
	memset(page + layout->data_at + (end - first), 0, layout->page_bytes - layout->data_at - (end - first));
	memcpy(&head, page + layout->data_at, sizeof head);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	head &= ~((1u << TIME_BITS) - 1);
#else
	head &= 31;
#endif
	memcpy(page + layout->data_at, &head, sizeof head);
	memcpy(page, &first_ns, sizeof first_ns);
	used = end - first;
	head = (uint32_t)used;
	memcpy(page + layout->commit_at, layout->commit_bytes == 4 ? (void *)&head : (void *)&used, layout->commit_bytes);
	return count;
}

long long pages_cut(int file, const struct page_layout *layout, int64_t from_ns)
{
	char *page = checked_realloc(NULL, layout->page_bytes);
	off_t in = 0, out = 0;
	long long total = 0;

	for (; pread(file, page, layout->page_bytes, in) == (ssize_t)layout->page_bytes; in += (off_t)layout->page_bytes) {
		long long count = cut_page(layout, page, (uint64_t)from_ns);

		if (!count)
			continue;
		if (pwrite(file, page, layout->page_bytes, out) != (ssize_t)layout->page_bytes) {
			total = -1;
			break;
		}
		out += (off_t)layout->page_bytes;
		total += count;
	}
	free(page);
	return ftruncate(file, out) ? -1 : total;
}
