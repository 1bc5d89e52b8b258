/* sockets.h: the sockets of network namespaces, from the kernel's socket diagnostics. */
#ifndef PERFCASE_SOCKETS_H
#define PERFCASE_SOCKETS_H

#include "util.h"

struct network {
	unsigned long long inode;
	char folder[64]; /* /proc/PID of a process in it */
};

struct sockets {
	int is_everything;          /* else only those whose inode is wanted */
	unsigned long long *wanted; /* inodes, sorted before they are looked up */
	size_t wanted_count, wanted_capacity;
	int is_sorted;
	struct network *namespaces;
	size_t namespace_count;
	size_t listed; /* in this snapshot, of all namespaces */
};

/* A snapshot begins. */
void sockets_reset(struct sockets *sockets);
/* A recorded process has this socket open. */
void sockets_want(struct sockets *sockets, unsigned long long inode);
/* Remembers the network namespace of the process at /proc/PID. */
void sockets_add_namespace(struct sockets *sockets, const char *folder);
/* Fills text with a line for each socket of a namespace. 0, or the errno. */
int sockets_list(struct sockets *sockets, size_t index, struct buffer *text);

#endif
