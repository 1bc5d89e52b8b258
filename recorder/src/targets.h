/* targets.h: which processes a scoped recording is about. */
#ifndef PERFCASE_TARGETS_H
#define PERFCASE_TARGETS_H

#include <stddef.h>
#include <sys/types.h>

struct process {
	pid_t pid;
	pid_t parent;
	long long start_ticks; /* tells a reused pid */
	int is_target;
	unsigned looks; /* at its network namespace (networks.c) */
	unsigned long long netns_inode;
};

struct targets {
	int is_everything;        /* no scope: all processes */
	const char *cgroup;       /* folder of a cgroup, or NULL */
	pid_t *roots;             /* pids given by the user */
	size_t root_count;
	struct process *processes; /* as of the last refresh, by pid */
	size_t count;
	unsigned turn; /* refreshes so far */
};

/* Sets the scope from its text: all, cgroup=FOLDER or PID,PID... */
void targets_choose(struct targets *targets, char *scope);
/* Reads the process list again. Children of a target are targets, and stay so when their parent is gone. */
void targets_refresh(struct targets *targets);

#endif
