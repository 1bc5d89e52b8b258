/* events.c: records perf events where perf is missing: into a file as they come, or into rings that forget the oldest.
 *
 * events stream OUT SCOPE KB SAMPLER STACKS TRACEPOINTS READYFILE: KB a CPU for the rings; until a signal.
 * events ring OUT SCOPE MB SAMPLER STACKS TRACEPOINTS READYFILE: MB for all rings. SIGUSR1 writes what they hold to OUT, and READYFILE
 *   has "saved N" then; SIGINT, SIGTERM and SIGHUP do the same once more, and end it.
 * events try SCOPE KB SAMPLER STACKS TRACEPOINTS: whether stream would begin; nothing is counted.
 * SCOPE is all, cgroup=FOLDER or PID,PID...: these and what they started; self is this process. */
#define _GNU_SOURCE
#include "events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_MS = 100, SIDE_LOOK_MS = 1000, SIDE_RING_BYTES = 256 << 10, SIDE_MOST_BYTES = 16 << 20, DESCRIBED_STEP = 1 << 16 };

static volatile sig_atomic_t save_requested;

/* The file, and what is gathered before it is written. */
struct writer {
	struct perf_file file;
	struct buffer gathered;
	struct events *read; /* whose rings are read meanwhile, or NULL */
	int error;
};

static void put(void *context, const struct iovec *pieces, int count)
{
	struct writer *writer = context;

	if (!writer->error && perf_file_add(&writer->file, pieces, count))
		writer->error = errno ? errno : EIO;
}

static void flush(struct writer *writer)
{
	struct iovec piece = { writer->gathered.data, writer->gathered.length };

	if (piece.iov_len)
		put(writer, &piece, 1);
	writer->gathered.length = 0;
}

/* Records of a hundred bytes each are written many at a time. */
static void gather(void *context, const struct iovec *pieces, int count)
{
	struct writer *writer = context;

	for (int i = 0; i < count; i++)
		buffer_add_bytes(&writer->gathered, pieces[i].iov_base, pieces[i].iov_len);
	if (writer->gathered.length < DESCRIBED_STEP)
		return;
	flush(writer);
	for (size_t i = 0; writer->read && i < writer->read->cpu_count; i++)
		ring_read(&writer->read->rings[i], put, writer);
}

static void say_ready(const char *path, const char *text)
{
	FILE *file = fopen(path, "ae");

	if (!file || fputs(text, file) < 0 || fclose(file))
		die("%s: %s", path, strerror(errno));
}

size_t ring_size(int64_t bytes)
{
	size_t size = 4096;

	while ((int64_t)size * 2 <= bytes && size < 1 << 30)
		size *= 2;
	return size;
}

static void on_save(int signal_number)
{
	(void)signal_number;
	save_requested = 1;
}

/* From here on the file can be read, should this process be killed. */
static void make_whole(struct writer *writer)
{
	if (perf_file_make_whole(&writer->file) && !writer->error)
		writer->error = errno;
}

static int end_file(struct writer *writer)
{
	const char *path = writer->file.path;

	flush(writer);
	make_whole(writer);
	if (close(writer->file.fd) && !writer->error)
		writer->error = errno;
	free(writer->gathered.data);
	if (writer->error)
		warn("%s: %s: the recording ends there", path, strerror(writer->error));
	return writer->error ? 1 : 0;
}

/* Everything that the rings have, then the mark behind which no older record comes. */
static void read_round(struct events *events, struct writer *writer)
{
	struct perf_event_header mark = { .type = RECORD_FINISHED_ROUND, .size = sizeof mark };
	struct iovec piece = { &mark, sizeof mark };
	size_t bytes = 0;

	for (size_t i = 0; i < events->cpu_count; i++)
		bytes += ring_read(&events->rings[i], put, writer);
	if (!bytes)
		return;
	put(writer, &piece, 1);
	make_whole(writer);
}

int events_stream(struct events *events, const char *out, const char *ready, char **command)
{
	struct writer writer = { .read = events };

	perf_file_create(&writer.file, out, events->list, events->count, command);
	if (events->list[0].attr.mmap) {
		events_track(events);
		describe_kernel(gather, &writer);
		describe_processes(events, gather, &writer);
	}
	flush(&writer);
	make_whole(&writer);
	events_switch(1);
	say_ready(ready, "ready\n");
	while (!stop_requested && !writer.error) {
		read_round(events, &writer);
		rings_wait(events->rings, events->cpu_count, LOOK_MS);
	}
	events_switch(0);
	read_round(events, &writer);
	return end_file(&writer);
}

static void read_side(struct events *events, struct side *side)
{
	for (size_t i = 0; i < events->cpu_count; i++)
		ring_read(&events->side[i], side_add, side);
}

/* What the rings hold, in a file that has its name when it is whole. Readers order the records by time. */
static int save(struct events *events, struct side *side, const char *out, char **command)
{
	struct writer writer = { .error = 0 };
	struct iovec known;
	char path[4096];
	int status;

	perf_file_create(&writer.file, format_path(path, sizeof path, "%s.new", out), events->list, events->count, command);
	for (size_t i = 0; i < events->cpu_count; i++)
		ring_read_overwritten(&events->rings[i], put, &writer);
	read_side(events, side); /* after them: no thread of theirs is unknown */
	known = (struct iovec){ side->records.data, side->records.length };
	gather(&writer, &known, 1);
	describe_kernel(gather, &writer);
	if (side->forgotten) {
		targets_refresh(&events->targets);
		describe_processes(events, gather, &writer);
	}
	status = end_file(&writer);
	if (rename(path, out)) {
		warn("%s: %s", out, strerror(errno));
		return 1;
	}
	return status;
}

static int keep(struct events *events, const char *out, const char *ready, char **command)
{
	struct sigaction action = { .sa_handler = on_save };
	struct side side = { .most_bytes = SIDE_MOST_BYTES };
	int status = 0, saved = 0;
	char text[32];

	sigaction(SIGUSR1, &action, NULL);
	events_track(events);
	describe_processes(events, side_add, &side);
	events_switch(1);
	say_ready(ready, "ready\n");
	while (!status) {
		int ends = stop_requested;

		read_side(events, &side);
		if (ends || save_requested) {
			save_requested = 0;
			status = save(events, &side, out, command);
			say_ready(ready, format_path(text, sizeof text, "saved %d\n", ++saved));
		}
		if (ends)
			break;
		if (!save_requested && !stop_requested)
			rings_wait(events->side, events->cpu_count, SIDE_LOOK_MS);
	}
	if (side.forgotten)
		warn("%llu records of threads and mappings found no room: some names may be missing", (unsigned long long)side.forgotten);
	return status;
}

int command_events(int argc, char **argv)
{
	struct events events = { .count = 0 };
	int is_try = argc == 7 && !strcmp(argv[1], "try"), is_ring = argc == 9 && !strcmp(argv[1], "ring");
	char **options = is_try ? argv + 2 : argv + 3; /* SCOPE SIZE SAMPLER STACKS TRACEPOINTS */
	char self[16];
	int64_t size;

	if (!is_try && !is_ring && (argc != 9 || strcmp(argv[1], "stream")))
		die("usage: events stream|ring OUT SCOPE SIZE SAMPLER STACKS TRACEPOINTS READYFILE | events try SCOPE KB SAMPLER STACKS "
		    "TRACEPOINTS");
	if ((size = parse_integer(options[1])) <= 0 || size > 1 << 24)
		die("%s: the size of the buffers", options[1]);
	catch_stop_signals();
	if (!strcmp(options[0], "self"))
		options[0] = format_path(self, sizeof self, "%d", (int)getpid());
	targets_choose(&events.targets, checked_strdup(options[0]));
	events_choose(&events, options[2], options[3], options[4]);
	if (is_ring)
		events_make_overwrite(&events);
	size = is_ring ? (size << 20) / sysconf(_SC_NPROCESSORS_ONLN) : size << 10;
	events_open(&events, ring_size(size), SIDE_RING_BYTES);
	if (is_try)
		return 0;
	return is_ring ? keep(&events, argv[2], argv[8], argv) : events_stream(&events, argv[2], argv[8], argv);
}
