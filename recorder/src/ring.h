/* ring.h: a file that keeps what was written last: it is written in parts, the oldest of which go, and put together at the end. */
#ifndef PERFCASE_RING_H
#define PERFCASE_RING_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct ring_part {
	unsigned number;
	int64_t start_ns, bytes;
};

struct ring {
	const char *path;
	FILE *file;      /* to write to */
	int64_t keep_ns; /* 0: everything is kept, in the file itself */
	int64_t limit_bytes;
	const char *from; /* the file that says since when, or NULL */
	struct ring_part *parts;
	size_t count;
};

/* argv: nothing, or KEEP_NS LIMIT_BYTES FROM_FILE. */
void ring_open(struct ring *ring, const char *path, char **argv);
/* Where a reader could begin: whether a new part begins here. */
int ring_turn(struct ring *ring);
/* Puts the parts together, and says since when there are some. 0, or -1. */
int ring_close(struct ring *ring);
/* Writes the moment since when a source has all that happened. */
void put_from(const char *path, int64_t from_ns);

#endif
