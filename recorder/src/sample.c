/* sample.c: copies /proc and /sys files at an interval, byte for byte, into one append-only text stream.
 * The stream is specified in schema/README.md ("proc/snapshots"). */
#define _GNU_SOURCE
#include "cgroups.h"
#include "file_systems.h"
#include "networks.h"
#include "ring.h"
#include "targets.h"
#include "threads.h"
#include "util.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	FILE_LIMIT = 16 << 20, /* bytes kept of one file */
	LEFT_OUT_MAX = 29,     /* snapshots in a row that leave out files of a thread that does not run */
	STAT_LEFT_OUT_MAX = 3, /* and its stat, too */
	CGROUPS_EVERY = 10,    /* snapshots between looks at who is in which control group */
	FILES_PER_THREAD = OPEN_PER_THREAD - 2
};

/* Files of a thread that stay open, as whether it ran is in them. */
enum open_file { SCHEDSTAT, STAT, OPEN_FILES };
static const char *const OPEN_NAMES[OPEN_FILES] = { "schedstat", "stat" };

enum scope { SCOPE_SYSTEM, SCOPE_ONCE, SCOPE_CGROUP, SCOPE_NETWORK, SCOPE_PROCESS, SCOPE_THREAD };

struct item {
	enum scope scope;
	char *path; /* absolute (a glob is allowed), or a name below the folder of its scope */
};

struct sampler {
	struct item *items;
	size_t count;
	size_t thread_items[FILES_PER_THREAD]; /* without those that stay open */
	size_t thread_item_count;
	int open_items[OPEN_FILES]; /* whether the list has them */
	struct targets targets;
	struct kept_threads threads;
	struct cgroups cgroups;
	struct networks networks;
	struct file_systems file_systems;
	unsigned seq;
	int is_first; /* snapshot of a part: everything is in it */
	struct ring ring;
	FILE *out;
	struct buffer text, open_texts[OPEN_FILES];
	long long files, bytes;
};

static void add_name(char ***names, size_t *count, char *name)
{
	*names = checked_realloc(*names, (*count + 1) * sizeof(char *));
	(*names)[(*count)++] = name;
}

static void load_list(struct sampler *sampler, const char *path)
{
	char line[1024], scope[16], name[1000];
	FILE *file = fopen(path, "re");

	if (!file)
		die("%s: %s", path, strerror(errno));
	while (fgets(line, sizeof line, file)) {
		struct item item = { SCOPE_SYSTEM, NULL };

		line[strcspn(line, "#\n")] = 0;
		if (sscanf(line, "%15s %999s", scope, name) != 2)
			continue;
		if (!strcmp(scope, "process"))
			item.scope = SCOPE_PROCESS;
		else if (!strcmp(scope, "thread"))
			item.scope = SCOPE_THREAD;
		else if (!strcmp(scope, "once"))
			item.scope = SCOPE_ONCE;
		else if (!strcmp(scope, "cgroup"))
			item.scope = SCOPE_CGROUP;
		else if (!strcmp(scope, "network"))
			item.scope = SCOPE_NETWORK;
		else if (strcmp(scope, "system"))
			die("%s: unknown scope %s", path, scope);
		item.path = checked_strdup(name);
		if (item.scope == SCOPE_CGROUP)
			add_name(&sampler->cgroups.names, &sampler->cgroups.name_count, item.path);
		if (item.scope == SCOPE_NETWORK)
			add_name(&sampler->networks.names, &sampler->networks.name_count, item.path);
		if (item.scope == SCOPE_THREAD && !strcmp(name, OPEN_NAMES[SCHEDSTAT]))
			sampler->open_items[SCHEDSTAT] = 1;
		else if (item.scope == SCOPE_THREAD && !strcmp(name, OPEN_NAMES[STAT]))
			sampler->open_items[STAT] = 1;
		else if (item.scope == SCOPE_THREAD && sampler->thread_item_count == FILES_PER_THREAD)
			die("%s: more than %d files of a thread", path, OPEN_PER_THREAD);
		else if (item.scope == SCOPE_THREAD)
			sampler->thread_items[sampler->thread_item_count++] = sampler->count;
		sampler->items = checked_realloc(sampler->items, (sampler->count + 1) * sizeof item);
		sampler->items[sampler->count++] = item;
	}
	fclose(file);
}

static void put_file(struct sampler *sampler, int64_t now, const char *path, int error)
{
	if (error && !sampler->text.length) {
		fprintf(sampler->out, "E %lld %d %s\n", (long long)now, error, path);
		return;
	}
	fprintf(sampler->out, "F %lld %zu %s\n", (long long)now, sampler->text.length, path);
	fwrite(sampler->text.data, 1, sampler->text.length, sampler->out);
	fputc('\n', sampler->out);
	sampler->files++;
	sampler->bytes += (long long)sampler->text.length;
}

static void copy_file(struct sampler *sampler, const char *path)
{
	int64_t now = clock_ns(CLOCK_MONOTONIC);

	put_file(sampler, now, path, read_file(path, &sampler->text, FILE_LIMIT));
}

static void copy_network(struct sampler *sampler, size_t index)
{
	const struct networks *networks = &sampler->networks;
	int folder = networks_open(networks, index);
	char path[256], name[256];

	for (size_t i = 0; folder >= 0 && i < networks->name_count; i++) {
		int64_t now = clock_ns(CLOCK_MONOTONIC);
		int error = read_file_at(folder, format_path(name, sizeof name, "net/%s", networks->names[i]), &sampler->text,
					 FILE_LIMIT);

		if (error == ESRCH || error == ENOENT || error == EINVAL)
			break; /* its process has ended */
		put_file(sampler, now,
			 format_path(path, sizeof path, "/perfcase/netns/%llu/%s",
				     networks->members[networks->first[index]].inode, networks->names[i]),
			 error);
	}
	if (folder >= 0)
		close(folder);
}

static void copy_networks(struct sampler *sampler)
{
	struct networks *networks = &sampler->networks;
	int64_t now = clock_ns(CLOCK_MONOTONIC), cost = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	if (!networks_are_due(networks, now) && !(networks->name_count && (sampler->is_first || stop_requested)))
		return;
	networks_refresh(networks, &sampler->targets);
	for (size_t i = 0; i < networks->count; i++)
		copy_network(sampler, i);
	if (networks->namespaces_left_out || networks->processes_left_out) {
		char line[128];

		snprintf(line, sizeof line, "namespace_count %zu\nprocess_count %zu\n", networks->namespaces_left_out,
			 networks->processes_left_out);
		sampler->text.length = 0;
		buffer_add(&sampler->text, line);
		put_file(sampler, now, "/perfcase/netns/left_out", 0);
	}
	networks->read_ns = now;
	networks->cost_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cost;
}

/* No file, but in the list like one. */
static const char FILE_SYSTEMS[] = "/perfcase/file_systems";

static void copy_file_systems(struct sampler *sampler)
{
	struct file_systems *left_out = &sampler->file_systems;
	int64_t now = clock_ns(CLOCK_MONOTONIC);
	int error = file_systems_ask(left_out, &sampler->text);

	if (error || sampler->text.length)
		put_file(sampler, now, FILE_SYSTEMS, error);
	if (left_out->foreign_count || left_out->surplus_count || left_out->silent_count) {
		char line[128];

		snprintf(line, sizeof line, "foreign_count %zu\nsurplus_count %zu\nsilent_count %zu\n", left_out->foreign_count,
			 left_out->surplus_count, left_out->silent_count);
		sampler->text.length = 0;
		buffer_add(&sampler->text, line);
		put_file(sampler, now, "/perfcase/file_systems/left_out", 0);
	}
}

static void copy_system(struct sampler *sampler, const char *pattern)
{
	glob_t found;

	if (!strcmp(pattern, FILE_SYSTEMS)) {
		copy_file_systems(sampler);
	} else if (!strpbrk(pattern, "*?[")) {
		copy_file(sampler, pattern);
	} else if (!glob(pattern, 0, NULL, &found)) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			copy_file(sampler, found.gl_pathv[i]);
		globfree(&found);
	}
}

static void copy_scope(struct sampler *sampler, enum scope scope, const char *folder)
{
	char path[256];

	for (size_t i = 0; i < sampler->count; i++)
		if (sampler->items[i].scope == scope)
			copy_file(sampler, format_path(path, sizeof path, "%s/%s", folder, sampler->items[i].path));
}

/* Decimal digits; where they end. printf is what a snapshot of many small files would cost most. */
static char *put_number(char *out, long long number)
{
	char digits[24];
	int count = 0;

	do
		digits[count++] = (char)('0' + number % 10);
	while (number /= 10);
	while (count)
		*out++ = digits[--count];
	return out;
}

static void put_thread_file(struct sampler *sampler, int64_t now, const struct kept *thread, const char *name,
			    const struct buffer *text, int error)
{
	char line[160], *at = line;

	*at++ = error && !text->length ? 'E' : 'F';
	*at++ = ' ';
	at = put_number(at, now);
	*at++ = ' ';
	at = put_number(at, *line == 'E' ? error : (long long)text->length);
	at = stpcpy(put_number(stpcpy(at, " /proc/"), thread->pid), "/task/");
	at = stpcpy(put_number(at, thread->tid), "/");
	at = stpncpy(at, name, 32);
	*at++ = '\n';
	if (*line == 'F') {
		fwrite_unlocked(line, 1, (size_t)(at - line), sampler->out);
		fwrite_unlocked(text->data, 1, text->length, sampler->out);
		putc_unlocked('\n', sampler->out);
		sampler->files++;
		sampler->bytes += (long long)text->length;
	} else {
		fwrite_unlocked(line, 1, (size_t)(at - line), sampler->out);
	}
}

/* Whether a thread has not run since the snapshot before: its time on a CPU, its wait for one and the number of times it got
 * one are the same. Says what they are now. */
static int has_not_run(struct kept *thread, const struct buffer *schedstat)
{
	int is_short = schedstat->length && schedstat->length < sizeof thread->schedstat;
	int same = is_short && !strcmp(thread->schedstat, schedstat->data) && strncmp(schedstat->data, "0 0 0", 5);

	thread->schedstat[0] = 0;
	if (is_short)
		strcpy(thread->schedstat, schedstat->data);
	return same;
}

static char state_of(const struct buffer *stat)
{
	const char *close = stat->length ? memrchr(stat->data, ')', stat->length) : NULL;

	return close && close[1] ? close[2] : 0;
}

static int copy_open_file(struct sampler *sampler, int tasks, struct kept *thread, int64_t now, enum open_file file)
{
	struct buffer *text = &sampler->open_texts[file];
	int error;

	text->length = 0;
	if (!sampler->open_items[file])
		return 0;
	error = kept_read(&sampler->threads, thread, file, tasks, OPEN_NAMES[file], text);
	put_thread_file(sampler, now, thread, OPEN_NAMES[file], text, error);
	return error;
}

/* If a thread sleeps and did not run, only schedstat is copied: its other files say what they said, except lines on
 * the whole process (schema/README.md). What others can change of it without its running (it is woken, and waits for a CPU;
 * its priority, its name) is in stat, which is copied in each fourth snapshot; the others now and then; all of them always of
 * the main thread. */
static int copy_thread(struct sampler *sampler, int tasks, pid_t pid, struct kept *thread)
{
	int64_t now = clock_ns(CLOCK_MONOTONIC);
	char before = thread->state;
	int idle, failed;

	thread->seen = sampler->seq;
	failed = copy_open_file(sampler, tasks, thread, now, SCHEDSTAT);
	idle = has_not_run(thread, &sampler->open_texts[SCHEDSTAT]) && thread->tid != pid;
	thread->left_out++;
	if (idle && before && strchr("SIT", before) && thread->stat_left_out < STAT_LEFT_OUT_MAX) {
		thread->stat_left_out++;
		return failed;
	}
	/* not all in the same snapshot */
	thread->stat_left_out = idle ? 0 : thread->tid % (STAT_LEFT_OUT_MAX + 1);
	failed |= copy_open_file(sampler, tasks, thread, now, STAT);
	thread->state = state_of(&sampler->open_texts[STAT]);
	if (!sampler->thread_item_count)
		return failed;
	idle = idle && thread->state == before;
	/* few threads run in most snapshots: those of the others need not stay open */
	if (idle)
		kept_close(&sampler->threads, thread, OPEN_FILES);
	if (idle && thread->left_out <= LEFT_OUT_MAX)
		return failed;
	thread->left_out = thread->tid % (LEFT_OUT_MAX / 2);
	for (size_t i = 0; i < sampler->thread_item_count; i++) {
		const char *file = sampler->items[sampler->thread_items[i]].path;
		int error = kept_read(&sampler->threads, thread, OPEN_FILES + (int)i, tasks, file, &sampler->text);

		put_thread_file(sampler, now, thread, file, &sampler->text, error);
	}
	return failed;
}

/* The threads of the snapshot before, if they still are all that there are: as many as the main thread's stat says, and
 * none of them gone. Else the folder is read, which
 * costs about a tenth of all. */
static int copy_family(struct sampler *sampler, int tasks, struct kept *main_thread)
{
	long long thread_count = 0;
	int failed;

	if (!main_thread->family_count || !sampler->open_items[STAT])
		return 0;
	failed = copy_thread(sampler, tasks, main_thread->pid, main_thread);
	if (failed || proc_stat_field(sampler->open_texts[STAT].data, 20, &thread_count) ||
	    thread_count != (long long)main_thread->family_count)
		return 0;
	for (size_t i = 0; i < main_thread->family_count; i++)
		if (main_thread->family[i] != main_thread)
			failed |= copy_thread(sampler, tasks, main_thread->pid, main_thread->family[i]);
	return !failed;
}

static void copy_process(struct sampler *sampler, pid_t pid)
{
	char folder[64];
	struct kept *main_thread;
	struct dirent *item;
	DIR *tasks;

	copy_scope(sampler, SCOPE_PROCESS, format_path(folder, sizeof folder, "/proc/%d", (int)pid));
	if (!sampler->thread_item_count && !sampler->open_items[STAT] && !sampler->open_items[SCHEDSTAT])
		return;
	if (!(tasks = opendir(format_path(folder, sizeof folder, "/proc/%d/task", (int)pid))))
		return;
	main_thread = kept_get(&sampler->threads, pid, pid);
	if (!copy_family(sampler, dirfd(tasks), main_thread)) {
		main_thread->family_count = 0;
		while ((item = readdir(tasks))) {
			struct kept *thread;

			if (!isdigit((unsigned char)item->d_name[0]))
				continue;
			thread = kept_get(&sampler->threads, pid, atoi(item->d_name));
			kept_join(main_thread, thread);
			if (thread->seen != sampler->seq)
				copy_thread(sampler, dirfd(tasks), pid, thread);
		}
	}
	main_thread->seen = sampler->seq;
	closedir(tasks);
}

static void take_snapshot(struct sampler *sampler, int seq)
{
	sampler->files = sampler->bytes = 0;
	sampler->seq = (unsigned)seq + 1; /* 0: in none yet */
	if ((sampler->is_first = ring_turn(&sampler->ring) || !seq))
		kept_forget_runs(&sampler->threads);
	sampler->out = sampler->ring.file;
	fprintf(sampler->out, "S %lld %lld %d\n", (long long)clock_ns(CLOCK_MONOTONIC),
		(long long)clock_ns(CLOCK_REALTIME), seq);
	for (size_t i = 0; i < sampler->count; i++)
		if (sampler->items[i].scope == SCOPE_SYSTEM ||
		    (sampler->items[i].scope == SCOPE_ONCE && (sampler->is_first || stop_requested)))
			copy_system(sampler, sampler->items[i].path);
	targets_refresh(&sampler->targets);
	if (sampler->cgroups.name_count && (seq % CGROUPS_EVERY == 0 || sampler->is_first || stop_requested))
		cgroups_refresh(&sampler->cgroups, &sampler->targets, &sampler->text);
	for (size_t i = 0; i < sampler->cgroups.path_count; i++)
		copy_file(sampler, sampler->cgroups.paths[i]);
	copy_networks(sampler);
	for (size_t i = 0; i < sampler->targets.count; i++)
		if (sampler->targets.processes[i].is_target)
			copy_process(sampler, sampler->targets.processes[i].pid);
	kept_sweep(&sampler->threads, sampler->seq);
	fprintf(sampler->out, "Z %lld %d %lld %lld\n", (long long)clock_ns(CLOCK_MONOTONIC), seq, sampler->files,
		sampler->bytes);
	if (flush_all(sampler->out))
		die("writing the snapshot: %s", strerror(errno));
}

static volatile sig_atomic_t begin_requested;

static void on_begin_signal(int number)
{
	(void)number;
	begin_requested = 1;
}

/* sample LIST OUT INTERVAL_NS SCOPE [KEEP_NS LIMIT_BYTES FROM_FILE]: one snapshot at once, one at each interval, one at the end. SIGUSR1:
 * the recorded command begins: one now, and the intervals count from here. With KEEP_NS only the last ones are kept. */
int command_sample(int argc, char **argv)
{
	struct sampler sampler = { .items = NULL };
	int64_t interval_ns, next;
	int seq = 0;

	if (argc != 5 && argc != 8)
		die("usage: sample LIST OUT INTERVAL_NS all|cgroup=FOLDER|PID,PID... [KEEP_NS LIMIT_BYTES FROM_FILE]");
	load_list(&sampler, argv[1]);
	interval_ns = parse_integer(argv[3]);
	if (interval_ns < 1000000)
		die("the interval must be 1 ms or more");
	targets_choose(&sampler.targets, argv[4]);
	catch_stop_signals();
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = on_begin_signal }, NULL);
	ring_open(&sampler.ring, argv[2], argv + 5);
	next = clock_ns(CLOCK_MONOTONIC);
	while (!stop_requested) {
		int64_t now;

		take_snapshot(&sampler, seq++);
		/* a grid of whole intervals: a slow snapshot skips some instead of piling up */
		now = clock_ns(CLOCK_MONOTONIC);
		while (next <= now)
			next += interval_ns;
		while (!stop_requested && !begin_requested && (now = clock_ns(CLOCK_MONOTONIC)) < next)
			sleep_ns(next - now);
		if (begin_requested)
			next = clock_ns(CLOCK_MONOTONIC);
		begin_requested = 0;
	}
	take_snapshot(&sampler, seq);
	return ring_close(&sampler.ring) ? 1 : 0;
}
