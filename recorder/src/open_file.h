/* open_file.h: opens files of other processes, which may be hostile: no symlink is followed, only regular files are opened. */
#ifndef PERFCASE_OPEN_FILE_H
#define PERFCASE_OPEN_FILE_H

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { MAPS_LIMIT = 16 << 20, MAPPED_PATH = 4096 };

/* Opens a path below the folder `root` for reading, or returns -1. */
int open_below(int root, const char *path, struct stat *info);
/* Opens what a link of /proc such as map_files/… or exe points to. */
int open_link(const char *link, struct stat *info);
/* The root folder as a process sees it: its mount namespace, its chroot. -1: it is gone, or not ours to look at. */
int open_root_of(pid_t pid);

/* One executable mapping of /proc/PID/maps. */
struct mapping {
	uint64_t start, end, inode;
	char *path; /* without " (deleted)" */
	int is_deleted;
};

/* The next executable mapping of a file in the text of maps, which it changes; 0 at the end. */
int next_mapping(char **text, struct mapping *mapping);

/* What /proc/PID/status says. */
struct owner {
	uint32_t uids[4]; /* real, effective, saved, of files */
	pid_t nspid;      /* in the innermost PID namespace */
};

int read_owner(pid_t pid, struct owner *owner);
/* When a process began, on CLOCK_REALTIME; 0 if it is gone. */
int64_t started_realtime_ns(pid_t pid);
/* Whether its paths mean other files than ours do: another mount namespace or root. */
int is_elsewhere(pid_t pid);

#endif
