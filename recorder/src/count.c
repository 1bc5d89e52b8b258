/* count.c: samples and losses of a perf.data, and the moment of perf stat's time 0. */
#define _GNU_SOURCE
#include "perf_read.h"
#include "ring.h"
#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* count FILE: "samples=N" and "lost=N". Recorded on this machine, so of its byte order. A file that perf was
 * killed on says data size 0: then the records go on to the end. LOST counts what a full ring buffer dropped, of any
 * kind; LOST_SAMPLES counts the samples among the same events, so the larger one is reported. */
int command_count(int argc, char **argv)
{
	unsigned long long samples = 0, lost = 0, lost_samples = 0;
	struct perf_reader perf;
	const char *trouble;
	uint64_t body[2]; /* of a loss: id, lost */

	if (argc != 2)
		die("usage: count PERF_DATA");
	if ((trouble = perf_open(&perf, argv[1])))
		die("%s: %s", argv[1], trouble);
	while (perf_next(&perf)) {
		memcpy(body, perf.body, perf.length < sizeof body ? perf.length : sizeof body);
		if (perf.record.type == RECORD_SAMPLE)
			samples++;
		else if (perf.record.type == RECORD_LOST && perf.length >= 16)
			lost += body[1];
		else if (perf.record.type == RECORD_LOST_SAMPLES && perf.length >= 8)
			lost_samples += body[0];
	}
	perf_close(&perf);
	printf("samples=%llu\nlost=%llu\n", samples, lost > lost_samples ? lost : lost_samples);
	return 0;
}

/* The printed time of a line of perf stat; -1: it has none. Sets rest to what follows. */
static int64_t printed_ns(char *line, char **rest)
{
	char *text = line + strspn(line, " "), *comma = strchr(text, ',');
	int64_t at;

	if (!comma || *text == '#')
		return -1;
	*comma = 0;
	at = parse_seconds_ns(text);
	*comma = ',';
	*rest = comma;
	return at;
}

static const char since[] = "# since %lld\n"; /* where a part begins: the end of the interval before */

/* The lines of a ring with times that count from where the first of them begins: returns how much later that is. */
static int64_t count_from_first(const char *path)
{
	char new_path[4096], *line = NULL, *rest;
	FILE *in = fopen(path, "re"), *out = fopen(format_path(new_path, sizeof new_path, "%s.new", path), "we");
	long long first = -1, other;
	size_t capacity = 0;

	if (!in || !out)
		die("%s: %s", in ? new_path : path, strerror(errno));
	while (getline(&line, &capacity, in) > 0) {
		int64_t at = printed_ns(line, &rest);

		if (sscanf(line, since, &other) == 1)
			first = first < 0 ? other : first;
		else if (at < 0)
			fputs(line, out);
		else
			fprintf(out, "%6lld.%09lld%s", (long long)(at - first) / 1000000000, (long long)(at - first) % 1000000000, rest);
	}
	fclose(in);
	free(line);
	if (fclose(out) || rename(new_path, path))
		die("%s: %s", new_path, strerror(errno));
	return first;
}

/* stamp IN OUT ZEROFILE [KEEP_NS LIMIT_BYTES FROM_FILE]: copies `perf stat -I -x,` lines from the fifo IN and writes to ZEROFILE the
 * CLOCK_MONOTONIC ns that its interval times count from: the least (arrival - printed time), off by the delay of one pipe write. With
 * KEEP_NS only the last lines are kept, and their times count from the first of them. */
int command_stamp(int argc, char **argv)
{
	int64_t zero = INT64_MAX, last = 0;
	char *line = NULL, *rest;
	size_t capacity = 0;
	ssize_t length;
	struct ring ring;
	FILE *in;

	if (argc != 4 && argc != 7)
		die("usage: stamp IN OUT ZEROFILE [KEEP_NS LIMIT_BYTES FROM_FILE]");
	signal(SIGINT, SIG_IGN); /* it ends with its input */
	die_with_parent();
	if (!(in = fopen(argv[1], "re")))
		die("%s: %s", argv[1], strerror(errno));
	ring_open(&ring, argv[2], argv + 4);
	if (ring.keep_ns) {
		signal(SIGTERM, SIG_IGN); /* what is in parts has to be put together, also when the recorder is gone */
		fprintf(ring.file, since, 0LL);
	}
	while ((length = getline(&line, &capacity, in)) > 0) {
		int64_t now = clock_ns(CLOCK_MONOTONIC), at = printed_ns(line, &rest);

		if (at >= 0 && at != last && ring_turn(&ring))
			fprintf(ring.file, since, (long long)last);
		if (at >= 0)
			last = at;
		fwrite(line, 1, (size_t)length, ring.file);
		if (flush_all(ring.file))
			die("%s: %s", argv[2], strerror(errno));
		if (at < 0 || now - at >= zero)
			continue;
		zero = now - at;
		put_from(argv[3], zero);
	}
	if (ring_close(&ring))
		return 1;
	if (ring.keep_ns)
		put_from(argv[3], zero + count_from_first(argv[2]));
	return 0;
}
