/* targets.c: finds the descendants of the given pids, or the members of a cgroup. */
#define _GNU_SOURCE
#include "targets.h"
#include "util.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { REREAD_EVERY = 8 };

static int by_pid(const void *left, const void *right)
{
	const struct process *a = left, *b = right;

	return (a->pid > b->pid) - (a->pid < b->pid);
}

static struct process *find(const struct process *list, size_t count, pid_t pid)
{
	struct process key = { .pid = pid };

	return count ? bsearch(&key, list, count, sizeof *list, by_pid) : NULL;
}

static int read_details(struct process *process, struct buffer *text)
{
	long long parent = 0;
	char path[64];

	if (read_file(format_path(path, sizeof path, "/proc/%d/stat", (int)process->pid), text, 4096) || !text->length ||
	    proc_stat_field(text->data, 4, &parent) || proc_stat_field(text->data, 22, &process->start_ticks))
		return -1;
	process->parent = (pid_t)parent;
	return 0;
}

/* Reading what is known of all processes of a host costs more than a snapshot of a few. A process that was there and was no
 * target stays none, unless its pid was given again: that is looked at now and then. */
static int is_as_before(const struct process *before, unsigned turn)
{
	return before && !before->is_target && ((unsigned)before->pid + turn) % REREAD_EVERY;
}

static size_t list_processes(struct process **list, const struct process *old, size_t old_count, unsigned turn,
			     int with_details)
{
	struct buffer text = { NULL, 0, 0 };
	DIR *proc = opendir("/proc");
	struct dirent *item;
	size_t count = 0, capacity = 0;

	*list = NULL;
	while (proc && (item = readdir(proc))) {
		struct process process = { .pid = 0 };
		const struct process *before;

		if (!isdigit((unsigned char)item->d_name[0]))
			continue;
		process.pid = atoi(item->d_name);
		before = with_details ? find(old, old_count, process.pid) : NULL;
		if (is_as_before(before, turn))
			process = *before;
		else if (with_details && read_details(&process, &text))
			continue;
		if (count == capacity) {
			capacity = capacity ? capacity * 2 : 256;
			*list = checked_realloc(*list, capacity * sizeof **list);
		}
		(*list)[count++] = process;
	}
	if (proc)
		closedir(proc);
	free(text.data);
	if (count)
		qsort(*list, count, sizeof **list, by_pid);
	return count;
}

static void mark_cgroup(struct targets *targets, const char *folder, int depth)
{
	struct buffer text = { NULL, 0, 0 };
	char path[4096];
	struct dirent *item;
	DIR *dir;

	if (!read_file(format_path(path, sizeof path, "%s/cgroup.procs", folder), &text, 16 << 20) && text.data)
		for (char *line = strtok(text.data, "\n"); line; line = strtok(NULL, "\n")) {
			struct process *process = find(targets->processes, targets->count, atoi(line));

			if (process)
				process->is_target = 1;
		}
	free(text.data);
	if (depth > 32 || !(dir = opendir(folder)))
		return;
	while ((item = readdir(dir)))
		if (item->d_type == DT_DIR && item->d_name[0] != '.')
			mark_cgroup(targets, format_path(path, sizeof path, "%s/%s", folder, item->d_name), depth + 1);
	closedir(dir);
}

void targets_choose(struct targets *targets, char *scope)
{
	if (!strcmp(scope, "all")) {
		targets->is_everything = 1;
	} else if (!strncmp(scope, "cgroup=", 7)) {
		targets->cgroup = scope + 7;
	} else {
		for (char *pid = strtok(scope, ","); pid; pid = strtok(NULL, ",")) {
			size_t count = ++targets->root_count;

			targets->roots = checked_realloc(targets->roots, count * sizeof(pid_t));
			targets->roots[count - 1] = atoi(pid);
		}
	}
}

void targets_refresh(struct targets *targets)
{
	struct process *old = targets->processes;
	size_t old_count = targets->count;
	int changed = 1;

	targets->count = list_processes(&targets->processes, old, old_count, targets->turn++, !targets->is_everything);
	if (targets->cgroup)
		mark_cgroup(targets, targets->cgroup, 0);
	for (size_t i = 0; i < targets->root_count; i++) {
		struct process *root = find(targets->processes, targets->count, targets->roots[i]);

		if (root)
			root->is_target = 1;
	}
	for (size_t i = 0; i < targets->count; i++) {
		struct process *process = &targets->processes[i], *before = find(old, old_count, process->pid);

		if (targets->is_everything ||
		    (!targets->cgroup && before && before->is_target && before->start_ticks == process->start_ticks))
			process->is_target = 1;
		if (before && before->start_ticks == process->start_ticks) {
			process->looks = before->looks;
			process->netns_inode = before->netns_inode;
		}
	}
	/* a child may have a smaller pid than its parent: until nothing changes */
	while (changed && targets->root_count) {
		changed = 0;
		for (size_t i = 0; i < targets->count; i++) {
			struct process *process = &targets->processes[i];
			struct process *parent = find(targets->processes, targets->count, process->parent);

			if (!process->is_target && parent && parent->is_target)
				process->is_target = changed = 1;
		}
	}
	free(old);
}

/* targets PID...: these and all their descendants, one a line. */
int command_targets(int argc, char **argv)
{
	struct targets targets = { .is_everything = 0 };

	for (int i = 1; i < argc; i++) {
		targets.roots = checked_realloc(targets.roots, (size_t)i * sizeof(pid_t));
		targets.roots[targets.root_count++] = atoi(argv[i]);
	}
	targets_refresh(&targets);
	for (size_t i = 0; i < targets.count; i++)
		if (targets.processes[i].is_target)
			printf("%d\n", (int)targets.processes[i].pid);
	return 0;
}
