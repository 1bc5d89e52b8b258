/* count.c: samples and losses of a perf.data, and the moment of perf stat's time 0. */
#define _GNU_SOURCE
#include "perf_read.h"
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

/* stamp IN OUT ZEROFILE: copies `perf stat -I -x,` lines from the fifo IN and writes to ZEROFILE the CLOCK_MONOTONIC
 * ns that its interval times count from: the least (arrival - printed time), off by the delay of one pipe write. */
int command_stamp(int argc, char **argv)
{
	int64_t zero = INT64_MAX;
	char *line = NULL;
	size_t capacity = 0;
	ssize_t length;
	FILE *in, *out, *stamp;

	if (argc != 4)
		die("usage: stamp IN OUT ZEROFILE");
	signal(SIGINT, SIG_IGN); /* it ends with its input */
	die_with_parent();
	if (!(in = fopen(argv[1], "re")) || !(out = fopen(argv[2], "we")))
		die("%s: %s", argv[1], strerror(errno));
	while ((length = getline(&line, &capacity, in)) > 0) {
		int64_t now = clock_ns(CLOCK_MONOTONIC), at;
		char *text = line + strspn(line, " "), *comma = strchr(text, ',');

		fwrite(line, 1, (size_t)length, out);
		fflush(out);
		if (!comma || *text == '#')
			continue;
		*comma = 0;
		at = parse_seconds_ns(text);
		if (at < 0 || now - at >= zero)
			continue;
		zero = now - at;
		if ((stamp = fopen(argv[3], "we"))) {
			fprintf(stamp, "%lld\n", (long long)zero);
			fclose(stamp);
		}
	}
	return fclose(out) ? 1 : 0;
}
