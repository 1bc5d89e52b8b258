/* bundle.h: the folder symbols/ of a capture and its list objects.tsv (schema/README.md, "symbols"). */
#ifndef PERFCASE_BUNDLE_H
#define PERFCASE_BUNDLE_H

#include "elf_table.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

/* One line of objects.tsv. */
struct row {
	char *member; /* NULL: not bundled */
	const char *kind;
	char *build_id, *path; /* build_id: "" without one */
	pid_t pid, nspid;      /* 0: shared */
	int64_t size_bytes, original_bytes; /* -1: not known */
	char *reason;          /* NULL: bundled */
};

struct bundle {
	const char *folder;
	int is_full, is_all, all_unwind_tables; /* is_all: also what no sample touches */
	int64_t object_limit, left_bytes;
	FILE *list;
	struct row *rows; /* also of an earlier process that wrote to this folder */
	size_t count;
};

/* Options: the folder, table|mapped|full, unwind|-, bytes in all. Dies where the folder cannot be written. */
void bundle_open(struct bundle *bundle, char **options);
enum { BUNDLE_OPTIONS = 4 };

/* The row of a bundled object, or NULL: by its build id, or where that is "" by its path. */
const struct row *bundle_find(const struct bundle *bundle, const char *build_id, const char *path);
int bundle_has_path(const struct bundle *bundle, const char *kind, const char *path, pid_t pid);

/* Each bundles an open file and adds its row, also where it fails; the path is as in the mapping. */
int bundle_object(struct bundle *bundle, int file, const struct stat *info, const char *build_id, const char *path);
void bundle_copy(struct bundle *bundle, int file, const struct stat *info, const char *kind, const char *member,
		 const char *path, pid_t pid, pid_t nspid);
/* Takes back the members that are not wanted, and their rows; their bytes are free for others. The number of rows. */
size_t bundle_drop(struct bundle *bundle, int (*is_wanted)(const struct row *row, const void *what), const void *what);
/* A further path of a bundled object. */
void bundle_again(struct bundle *bundle, const struct row *row, const char *path);
void bundle_missing(struct bundle *bundle, const char *kind, const char *build_id, const char *path, const char *reason);
/* The symbol tables of the debug files that the host has of objects without one. */
void bundle_debug_files(struct bundle *bundle);
void bundle_vdso(struct bundle *bundle);
/* The vDSO of programs of 32 bits beside ours of 64, once, if the process with these /proc/PID/maps is one. */
void bundle_vdso32(struct bundle *bundle, pid_t pid, const char *maps);

#endif
