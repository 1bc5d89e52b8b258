/* networks.h: the network namespaces, other than the recorder's own, that recorded processes are in. */
#ifndef PERFCASE_NETWORKS_H
#define PERFCASE_NETWORKS_H

#include "targets.h"
#include "util.h"

enum { MOST_NETWORKS = 64 }; /* read in one snapshot */

struct member {
	unsigned long long inode; /* of its network namespace */
	pid_t pid;
};

struct networks {
	char **names; /* files to read below /proc/PID/net */
	size_t name_count;
	unsigned looks;
	unsigned long long own;
	struct member *members; /* by namespace, then by pid */
	size_t member_count, member_capacity;
	size_t first[MOST_NETWORKS]; /* the first member of each namespace that is read */
	size_t count, namespaces_left_out, processes_left_out;
	int64_t read_ns, cost_ns; /* when they were last read, and what that took of a CPU */
};

/* Whether they may be read again: that takes less than 1 % of a CPU. */
int networks_are_due(const struct networks *networks, int64_t now);
/* Looks up the namespaces of the targets. */
void networks_refresh(struct networks *networks, struct targets *targets);
/* Opens /proc/PID of a process that is in a namespace now; -1: all that were have ended or left it. */
int networks_open(const struct networks *networks, size_t index);

#endif
