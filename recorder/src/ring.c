/* ring.c: PATH.N are the parts while it is written, a sixth of the time each. */
#define _GNU_SOURCE
#include "ring.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, PARTS = 6 };

static char *part_path(const struct ring *ring, char *path, unsigned number)
{
	return format_path(path, PATH_SIZE, "%s.%u", ring->path, number);
}

static void begin_part(struct ring *ring, unsigned number)
{
	char path[PATH_SIZE];

	ring->parts = checked_realloc(ring->parts, (ring->count + 1) * sizeof *ring->parts);
	ring->parts[ring->count++] = (struct ring_part){ number, clock_ns(CLOCK_MONOTONIC), 0 };
	if (!(ring->file = fopen(part_path(ring, path, number), "we")))
		die("%s: %s", path, strerror(errno));
	setvbuf(ring->file, NULL, _IOFBF, 1 << 18);
}

void ring_open(struct ring *ring, const char *path, char **argv)
{
	*ring = (struct ring){ .path = path };
	if (!*argv) {
		if (!(ring->file = fopen(path, "we")))
			die("%s: %s", path, strerror(errno));
		setvbuf(ring->file, NULL, _IOFBF, 1 << 18);
		return;
	}
	ring->keep_ns = parse_integer(argv[0]);
	ring->limit_bytes = parse_integer(argv[1]);
	ring->from = argv[2];
	if (ring->keep_ns <= 0 || ring->limit_bytes <= 0)
		die("KEEP_NS and LIMIT_BYTES are positive");
	begin_part(ring, 0);
}

static void forget_oldest(struct ring *ring)
{
	char path[PATH_SIZE];

	unlink(part_path(ring, path, ring->parts[0].number));
	ring->count--;
	memmove(ring->parts, ring->parts + 1, ring->count * sizeof *ring->parts);
}

int ring_turn(struct ring *ring)
{
	int64_t now = clock_ns(CLOCK_MONOTONIC), bytes = 0;
	struct ring_part *last;

	if (!ring->keep_ns)
		return 0;
	last = &ring->parts[ring->count - 1];
	last->bytes = ftello(ring->file);
	if (now - last->start_ns < ring->keep_ns / PARTS && last->bytes < ring->limit_bytes / PARTS)
		return 0;
	if (fclose(ring->file))
		die("%s.%u: %s", ring->path, last->number, strerror(errno));
	begin_part(ring, last->number + 1);
	for (size_t i = 0; i < ring->count; i++)
		bytes += ring->parts[i].bytes;
	/* the second one reaches back far enough, or the disk is not for more */
	while (ring->count > 2 && (ring->parts[1].start_ns <= now - ring->keep_ns || bytes > ring->limit_bytes)) {
		bytes -= ring->parts[0].bytes;
		forget_oldest(ring);
	}
	return 1;
}

static int copy_part(int out, const char *path)
{
	static char block[1 << 16];
	int in = open(path, O_RDONLY | O_CLOEXEC), failed = in < 0;
	ssize_t got = 0;

	while (!failed && (got = read(in, block, sizeof block)) > 0)
		failed = write_all(out, block, (size_t)got);
	failed |= got < 0;
	if (in >= 0)
		close(in);
	return failed;
}

void put_from(const char *path, int64_t from_ns)
{
	FILE *file = fopen(path, "we");

	if (!file || fprintf(file, "%lld\n", (long long)from_ns) < 0 || fclose(file))
		die("%s: %s", path, strerror(errno));
}

/* The first part becomes the file, and the others follow: the disk needs no room for both. */
int ring_close(struct ring *ring)
{
	char path[PATH_SIZE];
	int failed = fclose(ring->file) ? -1 : 0, out;

	if (!ring->keep_ns || failed)
		return failed;
	if (rename(part_path(ring, path, ring->parts[0].number), ring->path) ||
	    (out = open(ring->path, O_WRONLY | O_APPEND | O_CLOEXEC)) < 0) {
		warn("%s: %s", path, strerror(errno));
		return -1;
	}
	for (size_t i = 1; i < ring->count && !failed; i++) {
		failed = copy_part(out, part_path(ring, path, ring->parts[i].number));
		if (failed)
			warn("%s: %s", path, strerror(errno));
		else
			unlink(path);
	}
	put_from(ring->from, ring->parts[0].start_ns);
	return close(out) || failed ? -1 : 0;
}
