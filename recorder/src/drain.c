/* drain.c: records events in a private ftrace instance and saves its ring-buffer pages as the kernel wrote them.
 * The instance is the only thing changed in tracefs; `run` makes it and removes it, also when the recorder was killed. */
#define _GNU_SOURCE
#include "ring.h"
#include "trace_pages.h"
#include "util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, PIPE_BYTES = 1 << 20 };

struct cpu {
	int number;
	int trace; /* trace_pipe_raw, not blocking */
	int out;
	int pipe[2];
	int no_splice;
};

struct drain {
	const char *instance, *out;
	struct cpu *cpus;
	size_t count;
	size_t page_bytes;
	char *page;
	int64_t keep_ns; /* 0: everything is saved as it comes; else the last so many ns, at the end */
	const char *from;
	int64_t started_ns;
	int failed; /* something of it is missing, which was said */
};

/* Writes a control file of the instance; a refusal is reported, and fatal if the recording makes no sense without. */
static void control(const struct drain *drain, const char *file, const char *text, int is_fatal)
{
	char path[PATH_SIZE];
	int error = write_control(format_path(path, sizeof path, "%s/%s", drain->instance, file), text);

	if (!error)
		return;
	if (is_fatal)
		die("%s: %s", path, strerror(error));
	warn("%s: %s", path, strerror(error));
}

/* The threads of a list, a line each, to be followed. All in one write: after each, the kernel waits until no CPU uses the old list
 * any more, some 10 ms. */
static int follow_threads(const struct drain *drain, const char *list)
{
	struct buffer text = { NULL, 0, 0 };
	char path[PATH_SIZE];
	int fd, failed;

	if (read_file(list, &text, 16 << 20) || !text.length)
		return 0;
	fd = open(format_path(path, sizeof path, "%s/set_event_pid", drain->instance), O_WRONLY | O_CLOEXEC);
	failed = fd < 0 || write_all(fd, text.data, text.length);
	if (failed)
		warn("%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	free(text.data);
	return !failed;
}

static int enable_events(const struct drain *drain, const char *list)
{
	struct buffer text = { NULL, 0, 0 };
	char path[PATH_SIZE];
	int enabled = 0, error;

	if ((error = read_file(list, &text, 1 << 20)))
		die("%s: %s", list, strerror(error));
	for (char *line = strtok(text.data, "\n"); line; line = strtok(NULL, "\n")) {
		char *colon = strchr(line, ':');

		if (!colon)
			continue;
		*colon = '/';
		error = write_control(format_path(path, sizeof path, "%s/events/%s/enable", drain->instance, line), "1");
		if (error)
			warn("event %s: %s", line, strerror(error));
		else
			enabled++;
	}
	free(text.data);
	return enabled;
}

/* Writes a file of the output folder. */
static void put(struct drain *drain, const char *name, const struct buffer *text)
{
	char path[PATH_SIZE];
	int fd = open(format_path(path, sizeof path, "%s/%s", drain->out, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write_all(fd, text->data, text->length)) {
		warn("%s: %s", path, strerror(errno));
		drain->failed = 1;
	}
	if (fd >= 0)
		close(fd);
}

/* A file of tracefs, which is two folders above the instance, into the output folder. */
static void keep(struct drain *drain, const char *file, const char *name)
{
	struct buffer text = { NULL, 0, 0 };
	char path[PATH_SIZE];
	int error = read_file(format_path(path, sizeof path, "%s/../../%s", drain->instance, file), &text, 16 << 20);

	if (error)
		warn("%s: %s", path, strerror(error));
	else
		put(drain, name, &text);
	free(text.data);
}

static void keep_format(struct drain *drain, const char *system, const char *event)
{
	char path[PATH_SIZE], name[PATH_SIZE];

	mkdir(format_path(path, sizeof path, "%s/format/%s", drain->out, system), 0700);
	keep(drain, format_path(path, sizeof path, "events/%s/%s/format", system, event),
	     format_path(name, sizeof name, "format/%s/%s", system, event));
}

/* What a reader of raw pages needs beside them: the page header, the formats, the strings. Before the pages: a recorder that is
 * killed leaves pages that can be read. */
static void keep_formats(struct drain *drain, const char *list)
{
	struct buffer text = { "mono\n", 5, 0 };
	char path[PATH_SIZE];
	struct dirent *item;
	DIR *folder;

	put(drain, "clock", &text);
	keep(drain, "events/header_page", "header_page");
	keep(drain, "events/header_event", "header_event");
	keep(drain, "printk_formats", "printk_formats");
	mkdir(format_path(path, sizeof path, "%s/format", drain->out), 0700);
	folder = opendir(format_path(path, sizeof path, "%s/../../events/ftrace", drain->instance));
	while (folder && (item = readdir(folder)))
		if (item->d_type == DT_DIR && *item->d_name != '.')
			keep_format(drain, "ftrace", item->d_name);
	if (folder)
		closedir(folder);
	text = (struct buffer){ NULL, 0, 0 };
	if (read_file(list, &text, 1 << 20))
		return;
	for (char *line = strtok(text.data, "\n"); line; line = strtok(NULL, "\n")) {
		char *colon = strchr(line, ':');

		if (colon) {
			*colon = 0;
			keep_format(drain, line, colon + 1);
		}
	}
	free(text.data);
}

/* Bytes of a ring-buffer page: a host page, unless the kernel (6.8 and later) was told otherwise. */
static size_t page_bytes(const struct drain *drain)
{
	struct buffer text = { NULL, 0, 0 };
	char path[PATH_SIZE];
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);

	format_path(path, sizeof path, "%s/buffer_subbuf_size_kb", drain->instance);
	if (!read_file(path, &text, 64) && text.length && atoi(text.data) > 0 && atoi(text.data) <= 65536)
		bytes = (size_t)atoi(text.data) * 1024;
	free(text.data);
	return bytes;
}

static void open_cpus(struct drain *drain)
{
	char path[PATH_SIZE];
	struct dirent *item;
	DIR *dir = opendir(format_path(path, sizeof path, "%s/per_cpu", drain->instance));

	while (dir && (item = readdir(dir))) {
		struct cpu cpu = { .number = -1 };

		if (sscanf(item->d_name, "cpu%d", &cpu.number) != 1)
			continue;
		format_path(path, sizeof path, "%s/per_cpu/cpu%d/trace_pipe_raw", drain->instance, cpu.number);
		cpu.trace = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		format_path(path, sizeof path, "%s/cpu%d", drain->out, cpu.number);
		cpu.out = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (cpu.trace < 0 || cpu.out < 0 || pipe2(cpu.pipe, O_CLOEXEC)) {
			warn("CPU %d cannot be drained: %s", cpu.number, strerror(errno));
			drain->failed |= cpu.trace >= 0;
			continue;
		}
		fcntl(cpu.pipe[0], F_SETPIPE_SZ, PIPE_BYTES);
		drain->cpus = checked_realloc(drain->cpus, (drain->count + 1) * sizeof cpu);
		drain->cpus[drain->count++] = cpu;
	}
	if (dir)
		closedir(dir);
}

/* Moves the full pages that are there from the ring buffer to the file without copying them. Returns bytes. */
static size_t splice_pages(struct drain *drain, struct cpu *cpu)
{
	size_t total = 0;
	int room = fcntl(cpu->pipe[0], F_GETPIPE_SZ);
	/* a pipe slot holds one page whatever its size */
	size_t chunk = room > 0 ? (size_t)room : drain->page_bytes * 16;

	while (!cpu->no_splice) {
		ssize_t got = splice(cpu->trace, NULL, cpu->pipe[1], NULL, chunk, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);

		if (got < 0 && errno == EINVAL)
			cpu->no_splice = 1;
		if (got <= 0)
			break;
		for (ssize_t left = got; left > 0;) {
			ssize_t put = splice(cpu->pipe[0], NULL, cpu->out, NULL, (size_t)left, SPLICE_F_MOVE);

			if (put < 0 && errno == EINTR)
				continue;
			if (put <= 0)
				die("writing CPU %d: %s", cpu->number, strerror(errno));
			left -= put;
		}
		total += (size_t)got;
		if (total > 64 << 20)
			break; /* the other CPUs wait too */
	}
	return total;
}

/* Reads whatever is there, also partly filled pages. Returns bytes. */
static size_t read_pages(struct drain *drain, struct cpu *cpu)
{
	size_t total = 0;

	for (;;) {
		ssize_t got = read(cpu->trace, drain->page, drain->page_bytes);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return total;
		/* always whole pages in the file: readers walk it by the page size */
		memset(drain->page + got, 0, drain->page_bytes - (size_t)got);
		if (write_all(cpu->out, drain->page, drain->page_bytes))
			die("writing CPU %d: %s", cpu->number, strerror(errno));
		total += (size_t)got;
	}
}

static void drain_until_stopped(struct drain *drain)
{
	int64_t wait_ns = 50000000;

	while (!stop_requested) {
		size_t most = 0;

		for (size_t i = 0; i < drain->count; i++) {
			struct cpu *cpu = &drain->cpus[i];
			size_t got = cpu->no_splice ? read_pages(drain, cpu) : splice_pages(drain, cpu);

			most = got > most ? got : most;
		}
		/* at a higher rate, look more often: aim at a quarter of a MB in between */
		wait_ns = most > 1 << 20 ? 0 : most > 1 << 18 ? wait_ns / 2 : wait_ns + 5000000;
		if (wait_ns > 100000000)
			wait_ns = 100000000;
		sleep_ns(wait_ns);
	}
}

static void save_statistics(struct drain *drain)
{
	struct buffer text = { NULL, 0, 0 };
	char path[PATH_SIZE];

	mkdir(format_path(path, sizeof path, "%s/stats", drain->out), 0700);
	for (size_t i = 0; i < drain->count; i++) {
		int number = drain->cpus[i].number;

		format_path(path, sizeof path, "%s/per_cpu/cpu%d/stats", drain->instance, number);
		if (!read_file(path, &text, 1 << 16))
			put(drain, format_path(path, sizeof path, "stats/cpu%d", number), &text);
	}
	free(text.data);
}

/* The number behind a name in the kernel's statistics of a CPU; 0 where it is not. */
static long long statistic(const struct drain *drain, int cpu, const char *name)
{
	struct buffer text = { NULL, 0, 0 };
	char path[PATH_SIZE];
	const char *at;
	long long value = 0;

	format_path(path, sizeof path, "%s/per_cpu/cpu%d/stats", drain->instance, cpu);
	if (!read_file(path, &text, 1 << 16) && text.length && (at = strstr(text.data, name)))
		value = atoll(at + strlen(name));
	free(text.data);
	return value;
}

/* Since when all CPUs have everything: one whose buffer was full has what came after its first page. */
static int64_t complete_since(const struct drain *drain)
{
	int64_t from = clock_ns(CLOCK_MONOTONIC) - drain->keep_ns;

	if (from < drain->started_ns)
		from = drain->started_ns;
	for (size_t i = 0; i < drain->count; i++) {
		int64_t begins = statistic(drain, drain->cpus[i].number, "\noverrun: ") ? pages_begin_ns(drain->cpus[i].out) : -1;

		from = begins > from ? begins : from;
	}
	return from;
}

/* The end of a ring: what no CPU lacks is kept. What was overwritten before is no loss, and the kernel's statistics count it as one. */
static void cut_cpus(struct drain *drain)
{
	struct page_layout layout = { .page_bytes = drain->page_bytes };
	struct buffer text = { NULL, 0, 0 };
	int64_t from = complete_since(drain);
	char path[PATH_SIZE], line[64];

	if (read_file(format_path(path, sizeof path, "%s/header_page", drain->out), &text, 1 << 16) ||
	    page_layout_read(&layout, text.data))
		die("%s: not what a page's head looks like", path);
	free(text.data);
	mkdir(format_path(path, sizeof path, "%s/stats", drain->out), 0700);
	for (size_t i = 0; i < drain->count; i++) {
		const struct cpu *cpu = &drain->cpus[i];
		long long events = pages_cut(cpu->out, &layout, from);

		if (events < 0)
			die("writing CPU %d: %s", cpu->number, strerror(errno));
		format_path(line, sizeof line, "entries: 0\noverrun: 0\ndropped events: 0\nread events: %lld\n", events);
		put(drain, format_path(path, sizeof path, "stats/cpu%d", cpu->number), &(struct buffer){ line, strlen(line), 0 });
	}
	put_from(drain->from, from);
}

static void close_cpus(struct drain *drain)
{
	for (size_t i = 0; i < drain->count; i++) {
		struct cpu *cpu = &drain->cpus[i];
		char path[PATH_SIZE];

		if (lseek(cpu->out, 0, SEEK_END) == 0)
			unlink(format_path(path, sizeof path, "%s/cpu%d", drain->out, cpu->number));
		close(cpu->trace);
		close(cpu->out);
	}
}

static void mark_ready(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write_all(fd, "ready\n", 6))
		die("%s: %s", path, strerror(errno));
	close(fd);
}

/* drain INSTANCE OUT BUFFER_KB EVENTS PIDS READYFILE [KEEP_NS FROM_FILE]: EVENTS has a system:event a line; PIDS a tid a line, empty for
 * all. With KEEP_NS the buffers overwrite what is old, and the last so many ns are saved at the end. */
int command_drain(int argc, char **argv)
{
	struct drain drain = { .instance = NULL };
	struct stat pids;

	if (argc != 7 && argc != 9)
		die("usage: drain INSTANCE OUT BUFFER_KB EVENTS PIDS READYFILE [KEEP_NS FROM_FILE]");
	if (argc == 9) {
		drain.keep_ns = parse_integer(argv[7]);
		drain.from = argv[8];
	}
	drain.instance = argv[1];
	drain.out = argv[2];
	catch_stop_signals();
	keep_formats(&drain, argv[4]);
	control(&drain, "tracing_on", "0", 1);
	control(&drain, "trace_clock", "mono", 1);
	control(&drain, "buffer_size_kb", argv[3], 0);
	if (drain.keep_ns)
		control(&drain, "options/overwrite", "1", 1);
	if (!stat(argv[5], &pids) && pids.st_size > 0) {
		control(&drain, "options/event-fork", "1", 1);
		if (!follow_threads(&drain, argv[5]))
			die("no thread could be chosen"); /* without the filter it would record everything */
	}
	if (!enable_events(&drain, argv[4]))
		die("no event could be enabled");
	drain.page_bytes = page_bytes(&drain);
	drain.page = checked_realloc(NULL, drain.page_bytes);
	open_cpus(&drain);
	control(&drain, "tracing_on", "1", 1);
	drain.started_ns = clock_ns(CLOCK_MONOTONIC);
	mark_ready(argv[6]);
	if (drain.keep_ns)
		wait_for_stop(); /* nobody reads a ring before its end: nothing wakes up */
	else
		drain_until_stopped(&drain);
	control(&drain, "tracing_on", "0", 0);
	for (size_t i = 0; i < drain.count; i++) {
		if (!drain.keep_ns)
			splice_pages(&drain, &drain.cpus[i]);
		read_pages(&drain, &drain.cpus[i]);
	}
	if (drain.keep_ns)
		cut_cpus(&drain);
	else
		save_statistics(&drain);
	close_cpus(&drain);
	return drain.failed;
}
