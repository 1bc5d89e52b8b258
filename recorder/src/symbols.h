/* symbols.h: what the two halves of `symbols` share: while the recording runs, and after it. */
#ifndef PERFCASE_SYMBOLS_H
#define PERFCASE_SYMBOLS_H

#include "bundle.h"
#include "open_file.h"

#include <stdint.h>

/* What perf, or the process's maps, know of a mapped file. */
struct wanted {
	const char *path;     /* without " (deleted)" */
	const char *build_id; /* "" where it is not known */
	uint64_t inode;       /* 0 where it is not known */
	uint64_t generation;  /* of the inode, which may be used again; 0 where it is not known */
	int64_t start_ns;     /* of the recording, CLOCK_REALTIME: a file unchanged since is the one that was mapped */
};

/* Opens the file of a process's mapping, if it is the wanted one; else -1 and *reason. Sets build_id to the file's. */
int open_mapped(pid_t pid, const struct wanted *wanted, struct stat *info, char build_id[ELF_BUILD_ID_HEX],
		const char **reason);
/* The same by its path in our own mount namespace. */
int open_own(const struct wanted *wanted, struct stat *info, char build_id[ELF_BUILD_ID_HEX], const char **reason);

/* jit-N.dump */
int is_jitdump(const char *path);
/* Whether a file with names of code may be a process's own: its owner's, no other name, written since `since_ns`. */
int is_its_own(const struct stat *info, const uint32_t *uids, size_t uid_count, int64_t since_ns);
void bundle_perf_map(struct bundle *bundle, int file, pid_t pid, pid_t nspid);
void bundle_jitdump(struct bundle *bundle, int file, const char *path, pid_t pid, pid_t nspid);

int symbols_watch(struct bundle *bundle, char *scope, int64_t start_ns, int at_end);
int symbols_collect(struct bundle *bundle, const char *perf_data, const char *samples, int64_t start_ns);

#endif
