/* sample.c: copies /proc and /sys files at an interval, byte for byte, into one append-only text stream.
 * The stream is specified in schema/README.md ("proc/snapshots"). */
#define _GNU_SOURCE
#include "targets.h"
#include "util.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 16 << 20 }; /* bytes kept of one file */

enum scope { SCOPE_SYSTEM, SCOPE_PROCESS, SCOPE_THREAD };

struct item {
	enum scope scope;
	char *path; /* absolute (a glob is allowed), or a name below /proc/PID or /proc/PID/task/TID */
};

struct sampler {
	struct item *items;
	size_t count;
	struct targets targets;
	FILE *out;
	struct buffer text;
	long long files, bytes;
};

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
		else if (strcmp(scope, "system"))
			die("%s: unknown scope %s", path, scope);
		item.path = checked_strdup(name);
		sampler->items = checked_realloc(sampler->items, (sampler->count + 1) * sizeof item);
		sampler->items[sampler->count++] = item;
	}
	fclose(file);
}

static void copy_file(struct sampler *sampler, const char *path)
{
	long long now = clock_ns(CLOCK_MONOTONIC);
	int error = read_file(path, &sampler->text, FILE_LIMIT);

	if (error && !sampler->text.length) {
		fprintf(sampler->out, "E %lld %d %s\n", now, error, path);
		return;
	}
	fprintf(sampler->out, "F %lld %zu %s\n", now, sampler->text.length, path);
	fwrite(sampler->text.data, 1, sampler->text.length, sampler->out);
	fputc('\n', sampler->out);
	sampler->files++;
	sampler->bytes += (long long)sampler->text.length;
}

static void copy_system(struct sampler *sampler, const char *pattern)
{
	glob_t found;

	if (!strpbrk(pattern, "*?[")) {
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

static int has_scope(const struct sampler *sampler, enum scope scope)
{
	for (size_t i = 0; i < sampler->count; i++)
		if (sampler->items[i].scope == scope)
			return 1;
	return 0;
}

static void copy_process(struct sampler *sampler, pid_t pid)
{
	char folder[64], thread[160];
	struct dirent *item;
	DIR *tasks;

	copy_scope(sampler, SCOPE_PROCESS, format_path(folder, sizeof folder, "/proc/%d", (int)pid));
	if (!has_scope(sampler, SCOPE_THREAD))
		return;
	tasks = opendir(format_path(folder, sizeof folder, "/proc/%d/task", (int)pid));
	while (tasks && (item = readdir(tasks)))
		if (isdigit((unsigned char)item->d_name[0]))
			copy_scope(sampler, SCOPE_THREAD,
				   format_path(thread, sizeof thread, "%s/%.32s", folder, item->d_name));
	if (tasks)
		closedir(tasks);
}

static void take_snapshot(struct sampler *sampler, int seq)
{
	sampler->files = sampler->bytes = 0;
	fprintf(sampler->out, "S %lld %lld %d\n", (long long)clock_ns(CLOCK_MONOTONIC),
		(long long)clock_ns(CLOCK_REALTIME), seq);
	for (size_t i = 0; i < sampler->count; i++)
		if (sampler->items[i].scope == SCOPE_SYSTEM)
			copy_system(sampler, sampler->items[i].path);
	targets_refresh(&sampler->targets);
	for (size_t i = 0; i < sampler->targets.count; i++)
		if (sampler->targets.processes[i].is_target)
			copy_process(sampler, sampler->targets.processes[i].pid);
	fprintf(sampler->out, "Z %lld %d %lld %lld\n", (long long)clock_ns(CLOCK_MONOTONIC), seq, sampler->files,
		sampler->bytes);
	if (fflush(sampler->out))
		die("writing the snapshot: %s", strerror(errno));
}

/* sample LIST OUT INTERVAL_NS all|cgroup=FOLDER|PID,PID...: one snapshot at once, one at each interval, one at the end. */
int command_sample(int argc, char **argv)
{
	struct sampler sampler = { .items = NULL };
	int64_t interval_ns, next;
	int seq = 0;

	if (argc != 5)
		die("usage: sample LIST OUT INTERVAL_NS all|cgroup=FOLDER|PID,PID...");
	load_list(&sampler, argv[1]);
	interval_ns = parse_integer(argv[3]);
	if (interval_ns < 1000000)
		die("the interval must be 1 ms or more");
	targets_choose(&sampler.targets, argv[4]);
	if (!(sampler.out = fopen(argv[2], "we")))
		die("%s: %s", argv[2], strerror(errno));
	setvbuf(sampler.out, NULL, _IOFBF, 1 << 18);
	catch_stop_signals();
	next = clock_ns(CLOCK_MONOTONIC);
	while (!stop_requested) {
		int64_t now;

		take_snapshot(&sampler, seq++);
		/* a grid of whole intervals: a slow snapshot skips some instead of piling up */
		now = clock_ns(CLOCK_MONOTONIC);
		while (next <= now)
			next += interval_ns;
		while (!stop_requested && (now = clock_ns(CLOCK_MONOTONIC)) < next)
			sleep_ns(next - now);
	}
	take_snapshot(&sampler, seq);
	return fclose(sampler.out) ? 1 : 0;
}
