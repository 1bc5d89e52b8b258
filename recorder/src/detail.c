/* detail.c: what is too slow to read at every interval: command lines, control groups, limits, open files, exact memory
 * and sockets of the recorded processes. The stream is that of sample.c (schema/README.md, "proc/details"). */
#define _GNU_SOURCE
#include "ring.h"
#include "sockets.h"
#include "targets.h"
#include "util.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FILE_LIMIT = 1 << 20,   /* bytes kept of one file */
	FD_LIMIT = 20000,       /* descriptors listed in one snapshot */
	SLOW_FILES_PER_CPU = 100, /* a snapshot is followed by at least so many times its own CPU time */
	FLIGHT_PER_CPU = 4,     /* and of a flight by so many times that */
	LONGEST_STEP = 10,      /* intervals between snapshots, once a recording has lasted a while */
};

/* smaps_rollup walks all page tables with the process's memory map locked: not for huge processes. */
static const long long ROLLUP_MOST_BYTES = 16LL << 30;

struct details {
	struct targets targets;
	struct buffer text;
	struct sockets sockets;
	int with_numa;
	struct ring ring;
	FILE *out;
	long long files, bytes, fds;
	long page_size;
};

static void put_file(struct details *details, int64_t now, const char *path)
{
	fprintf(details->out, "F %lld %zu %s\n", (long long)now, details->text.length, path);
	fwrite(details->text.data, 1, details->text.length, details->out);
	fputc('\n', details->out);
	details->files++;
	details->bytes += (long long)details->text.length;
}

static void copy(struct details *details, const char *folder, const char *name)
{
	char path[128];
	int64_t now = clock_ns(CLOCK_MONOTONIC);
	int error = read_file(format_path(path, sizeof path, "%s/%s", folder, name), &details->text, FILE_LIMIT);

	if (error && !details->text.length)
		fprintf(details->out, "E %lld %d %s\n", (long long)now, error, path);
	else
		put_file(details, now, path);
}

/* Command lines are cut: only the beginning tells a process. */
static void copy_command_line(struct details *details, const char *folder)
{
	char path[128];
	int64_t now = clock_ns(CLOCK_MONOTONIC);

	if (!read_file(format_path(path, sizeof path, "%s/cmdline", folder), &details->text, 4096))
		put_file(details, now, path);
}

/* Resident bytes of a process, or -1. */
static long long resident_bytes(struct details *details, const char *folder)
{
	char path[128];
	long long total, resident;

	if (read_file(format_path(path, sizeof path, "%s/statm", folder), &details->text, 4096) ||
	    !details->text.length || sscanf(details->text.data, "%lld %lld", &total, &resident) != 2)
		return -1;
	return resident * details->page_size;
}

static void add_escaped(struct buffer *text, const char *target)
{
	for (; *target; target++)
		switch (*target) {
		case '\n': buffer_add(text, "\\012"); break;
		case '\\': buffer_add(text, "\\134"); break;
		default: buffer_add_char(text, *target);
		}
}

/* The links below fd as a file: a line each, the number and what it points to. */
static void list_descriptors(struct details *details, const char *folder)
{
	char path[128], target[4096];
	int64_t now = clock_ns(CLOCK_MONOTONIC);
	DIR *dir = opendir(format_path(path, sizeof path, "%s/fd", folder));
	struct dirent *item;

	if (!dir) {
		fprintf(details->out, "E %lld %d %s\n", (long long)now, errno, path);
		return;
	}
	details->text.length = 0;
	buffer_add(&details->text, "");
	while ((item = readdir(dir))) {
		unsigned long long inode;
		ssize_t length;

		if (!isdigit((unsigned char)item->d_name[0]))
			continue;
		if (++details->fds > FD_LIMIT)
			break;
		length = readlinkat(dirfd(dir), item->d_name, target, sizeof target - 1);
		if (length < 0)
			continue;
		target[length] = 0;
		if (sscanf(target, "socket:[%llu]", &inode) == 1)
			sockets_want(&details->sockets, inode);
		buffer_add(&details->text, item->d_name);
		buffer_add_char(&details->text, ' ');
		add_escaped(&details->text, target);
		buffer_add_char(&details->text, '\n');
	}
	closedir(dir);
	put_file(details, now, path);
}

/* The link as a file: what it points to names the namespace. */
static void note_network(struct details *details, const char *folder)
{
	char path[128], target[64];
	int64_t now = clock_ns(CLOCK_MONOTONIC);
	ssize_t length = readlink(format_path(path, sizeof path, "%s/ns/net", folder), target, sizeof target - 1);

	if (length < 0) {
		fprintf(details->out, "E %lld %d %s\n", (long long)now, errno, path);
		return;
	}
	target[length] = 0;
	details->text.length = 0;
	buffer_add(&details->text, target);
	put_file(details, now, path);
	sockets_add_namespace(&details->sockets, folder);
}

static void copy_process(struct details *details, pid_t pid)
{
	char folder[64];
	long long resident;

	format_path(folder, sizeof folder, "/proc/%d", (int)pid);
	copy_command_line(details, folder);
	copy(details, folder, "cgroup");
	resident = resident_bytes(details, folder);
	if (resident == 0) /* a kernel thread */
		return;
	copy(details, folder, "limits");
	if (resident > 0 && resident <= ROLLUP_MOST_BYTES) {
		copy(details, folder, "smaps_rollup");
		if (details->with_numa)
			copy(details, folder, "numa_maps");
	}
	if (details->fds < FD_LIMIT)
		list_descriptors(details, folder);
	note_network(details, folder);
}

static void list_sockets(struct details *details)
{
	char path[64];

	for (size_t i = 0; i < details->sockets.namespace_count; i++) {
		int64_t now = clock_ns(CLOCK_MONOTONIC);
		unsigned long long inode = details->sockets.namespaces[i].inode;
		int error = sockets_list(&details->sockets, i, &details->text);

		format_path(path, sizeof path, "/perfcase/netns/%llu/sockets", inode);
		if (error)
			fprintf(details->out, "E %lld %d %s\n", (long long)now, error, path);
		else
			put_file(details, now, path);
	}
}

static void take_snapshot(struct details *details, int seq)
{
	details->files = details->bytes = details->fds = 0;
	sockets_reset(&details->sockets);
	ring_turn(&details->ring);
	details->out = details->ring.file;
	fprintf(details->out, "S %lld %lld %d\n", (long long)clock_ns(CLOCK_MONOTONIC),
		(long long)clock_ns(CLOCK_REALTIME), seq);
	targets_refresh(&details->targets);
	for (size_t i = 0; i < details->targets.count; i++)
		if (details->targets.processes[i].is_target)
			copy_process(details, details->targets.processes[i].pid);
	list_sockets(details);
	fprintf(details->out, "Z %lld %d %lld %lld\n", (long long)clock_ns(CLOCK_MONOTONIC), seq, details->files,
		details->bytes);
	if (flush_all(details->out))
		die("writing the snapshot: %s", strerror(errno));
}

/* details OUT INTERVAL_NS SCOPE [numa|- [KEEP_NS LIMIT_BYTES FROM_FILE]]: snapshots after 0, 1, 2, 4, 8 intervals, then each 10, and one at the end; fewer
 * where they would cost more than 1 % of a CPU. */
int command_details(int argc, char **argv)
{
	struct details details = { .page_size = sysconf(_SC_PAGESIZE) };
	int64_t interval_ns, next, step;
	int seq = 0;

	if (argc != 4 && argc != 5 && argc != 8)
		die("usage: details OUT INTERVAL_NS all|cgroup=FOLDER|PID,PID... [numa|- [KEEP_NS LIMIT_BYTES FROM_FILE]]");
	interval_ns = parse_integer(argv[2]);
	if (interval_ns < 1000000)
		die("the interval must be 1 ms or more");
	targets_choose(&details.targets, argv[3]);
	details.with_numa = argc > 4 && !strcmp(argv[4], "numa");
	details.sockets.is_everything = details.targets.is_everything;
	ring_open(&details.ring, argv[1], argv + (argc > 5 ? 5 : argc));
	catch_stop_signals();
	next = clock_ns(CLOCK_MONOTONIC);
	step = interval_ns;
	while (!stop_requested) {
		int64_t now, cost = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

		take_snapshot(&details, seq++);
		cost = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cost;
		next += step;
		if (seq > 1 && step < LONGEST_STEP * interval_ns)
			step = step * 2 < LONGEST_STEP * interval_ns ? step * 2 : LONGEST_STEP * interval_ns;
		now = clock_ns(CLOCK_MONOTONIC);
		if (details.ring.keep_ns)
			cost *= FLIGHT_PER_CPU; /* it goes on for ever, and all of a flight is to take less than that */
		if (seq > 1 && next < now + cost * SLOW_FILES_PER_CPU)
			next = now + cost * SLOW_FILES_PER_CPU;
		while (!stop_requested && (now = clock_ns(CLOCK_MONOTONIC)) < next)
			sleep_ns(next - now);
	}
	take_snapshot(&details, seq);
	return ring_close(&details.ring) ? 1 : 0;
}
