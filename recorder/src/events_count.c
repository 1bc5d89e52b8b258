/* events_count.c: counts events where perf is missing, and prints what `perf stat -I -x,` prints.
 *
 * counts OUT SCOPE CGROUP INTERVAL_NS GROUPS ZEROFILE READYFILE: GROUPS has the events that are counted together, with commas between
 *   them, a group a line. ZEROFILE gets the CLOCK_MONOTONIC ns that the times count from. SCOPE is as for `events`; CGROUP is what
 *   the lines call a control group.
 * counts - NAME...: prints which of these this machine can count. */
#define _GNU_SOURCE
#include "events.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CACHE(which, result) (PERF_COUNT_HW_CACHE_##which | PERF_COUNT_HW_CACHE_RESULT_##result << 16)

static const struct { const char *name; uint32_t type; uint64_t config; } names[] = {
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
	{ "LLC-loads", PERF_TYPE_HW_CACHE, CACHE(LL, ACCESS) },
	{ "LLC-load-misses", PERF_TYPE_HW_CACHE, CACHE(LL, MISS) },
	{ "L1-dcache-loads", PERF_TYPE_HW_CACHE, CACHE(L1D, ACCESS) },
	{ "L1-dcache-load-misses", PERF_TYPE_HW_CACHE, CACHE(L1D, MISS) },
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
};

/* A count, and how long the counter was there and counted: what read() gives. */
struct reading {
	uint64_t value, enabled_ns, running_ns;
};

/* An event and its counters, one of each target. */
struct counter {
	const char *name;
	struct perf_event_attr attr;
	size_t leader; /* the first of its group */
	int *files;
	struct reading *last;
};

struct counting {
	struct counter list[EVENTS_MOST];
	size_t count;
	int *cpus; /* of each target: -1 for a thread on any */
	size_t targets;
	const char *cgroup; /* or "" */
	FILE *out;
	int64_t zero_ns;
};

static void add_counter(struct counting *counting, const char *name, size_t leader)
{
	if (counting->count == EVENTS_MOST)
		die("more than %d events", EVENTS_MOST);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(names[i].name, name)) {
			counting->list[counting->count++] = (struct counter){
				.name = names[i].name,
				.leader = leader,
				.attr = {
					.type = names[i].type,
					.size = sizeof(struct perf_event_attr),
					.config = names[i].config,
					.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
					.disabled = leader == counting->count,
					.inherit = 1,
					.exclude_guest = 1,
				},
			};
			return;
		}
	die("%s: not an event that can be counted without perf", name);
}

static void read_groups(struct counting *counting, const char *list)
{
	struct buffer text = { NULL, 0, 0 };
	int error = read_file(list, &text, 1 << 16);
	char *line, *event, *rest, *more;

	if (error || !text.length)
		die("%s: %s", list, error ? strerror(error) : "no event");
	for (line = strtok_r(text.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		size_t leader = counting->count;

		for (event = strtok_r(line, ",", &more); event; event = strtok_r(NULL, ",", &more))
			add_counter(counting, event, leader);
	}
	free(text.data);
}

/* Opens an event; without the kernel's part where only that is permitted. */
static int open_counter(struct counter *counter, pid_t target, int cpu, int leader, unsigned long flags)
{
	int file = (int)syscall(SYS_perf_event_open, &counter->attr, target, cpu, leader, flags | PERF_FLAG_FD_CLOEXEC);

	if (file >= 0 || (errno != EACCES && errno != EPERM) || counter->attr.exclude_kernel)
		return file;
	counter->attr.exclude_kernel = counter->attr.exclude_hv = 1;
	return open_counter(counter, target, cpu, leader, flags);
}

/* All events of one target; nothing where it has ended, or the CPU is off. */
static void open_target(struct counting *counting, pid_t target, int cpu, unsigned long flags)
{
	size_t at = counting->targets;

	for (size_t i = 0; i < counting->count; i++) {
		struct counter *counter = &counting->list[i];
		int leader = counter->leader < i ? counting->list[counter->leader].files[at] : -1;
		int file = open_counter(counter, target, cpu, leader, flags);

		if (file < 0 && (errno == ESRCH || (errno == ENODEV && cpu > 0))) {
			while (i--)
				close(counting->list[i].files[at]);
			return;
		}
		if (file < 0)
			refuse_event(counter->name, errno);
		counter->files = checked_realloc(counter->files, (at + 1) * sizeof *counter->files);
		counter->last = checked_realloc(counter->last, (at + 1) * sizeof *counter->last);
		counter->files[at] = file;
		counter->last[at] = (struct reading){ 0, 0, 0 };
	}
	counting->cpus = checked_realloc(counting->cpus, (at + 1) * sizeof *counting->cpus);
	counting->cpus[counting->targets++] = cpu;
}

static void open_threads(struct counting *counting, pid_t pid)
{
	char path[64];
	struct dirent *item;
	DIR *tasks = opendir(format_path(path, sizeof path, "/proc/%d/task", (int)pid));

	while (tasks && (item = readdir(tasks)))
		if (isdigit((unsigned char)item->d_name[0]))
			open_target(counting, atoi(item->d_name), -1, 0);
	if (tasks)
		closedir(tasks);
}

static void open_scope(struct counting *counting, char *scope)
{
	struct targets targets = { .is_everything = 0 };
	int group = -1, *cpus;
	size_t count = list_cpus(&cpus);

	raise_file_limit();
	targets_choose(&targets, scope);
	targets_refresh(&targets);
	if (targets.cgroup && (group = open(targets.cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		die("%s: %s", targets.cgroup, strerror(errno));
	for (size_t i = 0; i < count && (targets.is_everything || targets.cgroup); i++)
		open_target(counting, group, cpus[i], targets.cgroup ? PERF_FLAG_PID_CGROUP : 0);
	for (size_t i = 0; i < targets.count && !targets.is_everything && !targets.cgroup; i++)
		if (targets.processes[i].is_target)
			open_threads(counting, targets.processes[i].pid);
	free(cpus);
	if (!counting->targets)
		die("there is none of these processes any more");
}

/* What one target's counter counted since it was read last, for the time that it did not run as for the time that it did. */
static void add_target(struct counter *counter, size_t at, struct reading *sum)
{
	struct reading now, *last = &counter->last[at], part;

	if (read(counter->files[at], &now, sizeof now) != sizeof now)
		return;
	part = (struct reading){ now.value - last->value, now.enabled_ns - last->enabled_ns, now.running_ns - last->running_ns };
	*last = now;
	if (part.running_ns && part.running_ns < part.enabled_ns)
		part.value = (uint64_t)((double)part.value * (double)part.enabled_ns / (double)part.running_ns + 0.5);
	sum->value += part.value;
	sum->enabled_ns += part.enabled_ns;
	sum->running_ns += part.running_ns;
}

/* A line as perf stat has it: time, CPU, value, unit, event, control group, time that it counted, and the share of that. */
static void print_line(const struct counting *counting, const struct counter *counter, int64_t at_ns, int cpu, const struct reading *sum)
{
	int is_clock = counter->attr.config == PERF_COUNT_SW_TASK_CLOCK && counter->attr.type == PERF_TYPE_SOFTWARE;

	fprintf(counting->out, "%6lld.%09lld,", (long long)(at_ns / 1000000000), (long long)(at_ns % 1000000000));
	if (cpu >= 0)
		fprintf(counting->out, "CPU%d,", cpu);
	if (!sum->running_ns)
		fputs("<not counted>", counting->out);
	else if (is_clock)
		fprintf(counting->out, "%.2f", (double)sum->value / 1e6);
	else
		fprintf(counting->out, "%llu", (unsigned long long)sum->value);
	fprintf(counting->out, ",%s,%s%s,", is_clock ? "msec" : "", counter->name, counter->attr.exclude_kernel ? ":u" : "");
	if (*counting->cgroup)
		fprintf(counting->out, "%s,", counting->cgroup);
	fprintf(counting->out, "%llu,%.2f,,\n", (unsigned long long)sum->running_ns,
		sum->enabled_ns ? 100.0 * (double)sum->running_ns / (double)sum->enabled_ns : 100.0);
}

static void print_interval(struct counting *counting, int is_by_cpu)
{
	int64_t at_ns = clock_ns(CLOCK_MONOTONIC) - counting->zero_ns;

	for (size_t i = 0; i < counting->count; i++) {
		struct reading sum = { 0, 0, 0 };

		for (size_t at = 0; at < counting->targets; at++) {
			add_target(&counting->list[i], at, &sum);
			if (!is_by_cpu)
				continue;
			print_line(counting, &counting->list[i], at_ns, counting->cpus[at], &sum);
			sum = (struct reading){ 0, 0, 0 };
		}
		if (!is_by_cpu)
			print_line(counting, &counting->list[i], at_ns, -1, &sum);
	}
	if (flush_all(counting->out))
		die("the counts cannot be written: %s", strerror(errno));
}

static void put_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	if (!file || fputs(text, file) < 0 || fclose(file))
		die("%s: %s", path, strerror(errno));
}

static int print_countable(char **wanted)
{
	for (; *wanted; wanted++) {
		struct counting counting = { .count = 0 };
		int file;

		add_counter(&counting, *wanted, 0);
		if ((file = open_counter(&counting.list[0], 0, -1, -1, 0)) < 0)
			continue;
		puts(*wanted);
		close(file);
	}
	return 0;
}

int command_counts(int argc, char **argv)
{
	struct counting counting = { .count = 0 };
	int64_t interval_ns, next_ns;
	char text[32];

	if (argc > 2 && !strcmp(argv[1], "-"))
		return print_countable(argv + 2);
	if (argc != 8 || (interval_ns = parse_integer(argv[4])) <= 0)
		die("usage: counts OUT SCOPE CGROUP INTERVAL_NS GROUPS ZEROFILE READYFILE | counts - NAME...");
	counting.cgroup = argv[3];
	for (char *at = argv[3]; *at; at++)
		if ((unsigned char)*at < ' ' || *at == ',' || *at == 0x7f)
			*at = '?'; /* it stands between two commas, on a line */
	int is_by_cpu = !strcmp(argv[2], "all");

	catch_stop_signals();
	read_groups(&counting, argv[5]);
	open_scope(&counting, checked_strdup(argv[2]));
	if (!(counting.out = fopen(argv[1], "we")))
		die("%s: %s", argv[1], strerror(errno));
	counting.zero_ns = next_ns = clock_ns(CLOCK_MONOTONIC);
	events_switch(1);
	put_text(argv[6], format_path(text, sizeof text, "%lld\n", (long long)counting.zero_ns));
	put_text(argv[7], "ready\n");
	while (!stop_requested) {
		next_ns += interval_ns;
		while (!stop_requested && clock_ns(CLOCK_MONOTONIC) < next_ns)
			sleep_ns(next_ns - clock_ns(CLOCK_MONOTONIC));
		if (clock_ns(CLOCK_MONOTONIC) > next_ns + interval_ns)
			next_ns = clock_ns(CLOCK_MONOTONIC); /* this machine was asleep: no intervals of nothing */
		print_interval(&counting, is_by_cpu);
	}
	return fclose(counting.out) ? 1 : 0;
}
