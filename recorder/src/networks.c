/* networks.c: which network namespaces recorded processes are in. Each has counters of its own, which any process in it shows as
 * /proc/PID/net. A look at a process costs microseconds: what was seen of it is kept, and looked at again now and then. */
#define _GNU_SOURCE
#include "networks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MOST_TRIES = 8,      /* processes of a namespace that are asked */
	LOOKS_AT_FIRST = 4,  /* at a new process: a command that is recorded has two before it begins, and then makes its namespace */
	LOOK_EVERY = 16,     /* after these a process is looked at in so many looks once */
	READS_PER_CPU = 100,
};

int networks_are_due(const struct networks *networks, int64_t now)
{
	return networks->name_count && now - networks->read_ns >= networks->cost_ns * READS_PER_CPU;
}

/* The inode of the namespace, or 0. */
static unsigned long long namespace_at(int folder, const char *path)
{
	struct stat found;

	return fstatat(folder, path, &found, 0) ? 0 : found.st_ino;
}

static int by_namespace(const void *left, const void *right)
{
	const struct member *a = left, *b = right;

	return a->inode != b->inode ? (a->inode > b->inode) - (a->inode < b->inode) : (a->pid > b->pid) - (a->pid < b->pid);
}

static void add_member(struct networks *networks, struct process *process)
{
	char path[64];

	if (process->looks < LOOKS_AT_FIRST || ((unsigned)process->pid + networks->looks) % LOOK_EVERY == 0) {
		process->looks += process->looks < LOOKS_AT_FIRST;
		process->netns_inode = namespace_at(AT_FDCWD, format_path(path, sizeof path, "/proc/%d/ns/net", (int)process->pid));
		networks->processes_left_out += !process->netns_inode && (errno == EACCES || errno == EPERM);
	}
	if (!process->netns_inode || process->netns_inode == networks->own)
		return;
	if (networks->member_count == networks->member_capacity) {
		networks->member_capacity = networks->member_capacity ? networks->member_capacity * 2 : 256;
		networks->members = checked_realloc(networks->members, networks->member_capacity * sizeof *networks->members);
	}
	networks->members[networks->member_count++] = (struct member){ process->netns_inode, process->pid };
}

void networks_refresh(struct networks *networks, struct targets *targets)
{
	networks->own = namespace_at(AT_FDCWD, "/proc/self/ns/net");
	networks->looks++;
	networks->member_count = networks->count = networks->namespaces_left_out = networks->processes_left_out = 0;
	for (size_t i = 0; i < targets->count; i++)
		if (targets->processes[i].is_target)
			add_member(networks, &targets->processes[i]);
	if (networks->member_count)
		qsort(networks->members, networks->member_count, sizeof *networks->members, by_namespace);
	for (size_t i = 0; i < networks->member_count; i++) {
		if (i && networks->members[i].inode == networks->members[i - 1].inode)
			continue;
		/* the same ones in each snapshot: only the growth of a counter tells something */
		if (networks->count == MOST_NETWORKS)
			networks->namespaces_left_out++;
		else
			networks->first[networks->count++] = i;
	}
}

int networks_open(const struct networks *networks, size_t index)
{
	size_t at = networks->first[index], end = at + MOST_TRIES;
	unsigned long long inode = networks->members[at].inode;
	char path[64];

	for (; at < end && at < networks->member_count && networks->members[at].inode == inode; at++) {
		/* an open folder of /proc stays that of this process, even if another one gets its id */
		int folder = open(format_path(path, sizeof path, "/proc/%d", (int)networks->members[at].pid),
				  O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (folder >= 0 && namespace_at(folder, "ns/net") == inode)
			return folder;
		if (folder >= 0)
			close(folder);
	}
	return -1;
}
