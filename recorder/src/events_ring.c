/* events_ring.c: reads the kernel's rings (include/uapi/linux/perf_event.h: struct perf_event_mmap_page). */
#define _GNU_SOURCE
#include "events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

size_t ring_read(struct ring *ring, record_sink *sink, void *context)
{
	uint64_t head, tail;
	struct iovec pieces[2];
	size_t at, length;

	if (!ring->page)
		return 0;
	head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	tail = ring->page->data_tail;
	if (head == tail)
		return 0;
	at = tail & (ring->bytes - 1);
	length = head - tail;
	pieces[0] = (struct iovec){ ring->data + at, length < ring->bytes - at ? length : ring->bytes - at };
	pieces[1] = (struct iovec){ ring->data, length - pieces[0].iov_len };
	sink(context, pieces, pieces[1].iov_len ? 2 : 1);
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
	return length;
}

/* The place of each whole record behind the newest, from the newest to the oldest. Returns how many. */
static size_t find_records(const char *data, size_t bytes, uint64_t head, uint32_t **places)
{
	size_t count = 0, capacity = 0, from = head & (bytes - 1);

	*places = NULL;
	for (size_t at = 0; at + sizeof(struct perf_event_header) <= bytes;) {
		struct perf_event_header header;

		/* records begin at multiples of 8, and a header has 8 bytes */
		memcpy(&header, data + ((from + at) & (bytes - 1)), sizeof header);
		if (header.size < sizeof header || header.size > bytes - at)
			break; /* never written; or its end is overwritten */
		if (count == capacity) {
			capacity = capacity ? capacity * 2 : 1024;
			*places = checked_realloc(*places, capacity * sizeof **places);
		}
		(*places)[count++] = (uint32_t)at;
		at += header.size;
	}
	return count;
}

void ring_read_overwritten(const struct ring *ring, record_sink *sink, void *context)
{
	struct iovec piece;
	uint32_t *places;
	uint64_t head;
	size_t count;
	char *copy, *ordered;

	if (!ring->page)
		return;
	copy = checked_realloc(NULL, ring->bytes);
	ordered = checked_realloc(NULL, ring->bytes);
	if (ioctl(ring->files[0], PERF_EVENT_IOC_PAUSE_OUTPUT, 1))
		die("CPU %d cannot be read: %s", ring->cpu, strerror(errno));
	sleep_ns(1000000); /* a record may be half written, over the oldest */
	head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	memcpy(copy, ring->data, ring->bytes);
	ioctl(ring->files[0], PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
	count = find_records(copy, ring->bytes, head, &places);
	piece = (struct iovec){ ordered, 0 };
	while (count--) {
		size_t at = (head + places[count]) & (ring->bytes - 1);
		size_t length = ((struct perf_event_header *)(copy + at))->size;
		size_t first = length < ring->bytes - at ? length : ring->bytes - at;

		memcpy(ordered + piece.iov_len, copy + at, first);
		memcpy(ordered + piece.iov_len + first, copy, length - first);
		piece.iov_len += length;
	}
	if (piece.iov_len)
		sink(context, &piece, 1);
	free(places);
	free(ordered);
	free(copy);
}

void rings_wait(struct ring *rings, size_t count, int wait_ms)
{
	struct pollfd *waits = checked_realloc(NULL, count * sizeof *waits);

	for (size_t i = 0; i < count; i++)
		waits[i] = (struct pollfd){ rings[i].polled < rings[i].count ? rings[i].files[rings[i].polled] : -1, POLLIN, 0 };
	if (poll(waits, count, wait_ms) > 0)
		for (size_t i = 0; i < count; i++)
			if (waits[i].revents & (POLLHUP | POLLERR))
				rings[i].polled++; /* its thread has ended: another counter tells of the same ring */
	free(waits);
}
