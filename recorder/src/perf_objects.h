/* perf_objects.h: which files were mapped executable, as a perf.data says. */
#ifndef PERFCASE_PERF_OBJECTS_H
#define PERFCASE_PERF_OBJECTS_H

#include "elf_table.h"
#include "touched.h"

#include <stddef.h>
#include <sys/types.h>

enum { OBJECT_PIDS = 8 };

struct object {
	char *path;
	char build_id[ELF_BUILD_ID_HEX]; /* "" where perf does not know it */
	uint64_t inode, generation;      /* 0 where perf does not know them */
	uint64_t mapped_count;
	pid_t pids[OBJECT_PIDS]; /* of those that map it: the latest */
	size_t pid_count;        /* all, of which pids is a ring */
	int rivals;              /* files of one path, which only their inodes tell apart: FIRST_RIVAL and the others */
	int is_touched;          /* by a sample, or by a stack */
};

enum { FIRST_RIVAL = 1, OTHER_RIVAL };

struct objects {
	int is_all; /* all count as touched: nobody asks what the samples touch */
	struct object *list;
	size_t count;
	size_t *slots; /* hash table of indices + 1 */
	size_t slot_count;
	size_t left_out; /* more than are kept */
	unsigned char *pids; /* a bit for each process that mapped something, and has samples */
	struct touched touched;
};

/* Reads a perf.data of this machine, and another with more samples of the same processes or NULL. NULL, or what is wrong with
 * the first; objects found until then are kept. The most often mapped come first. */
const char *read_perf_objects(const char *path, const char *samples, struct objects *objects);

#endif
