/* open_file.c: opens files through another process's eyes without doing what it might trick us into. */
#define _GNU_SOURCE
#include "open_file.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Opens for reading what an O_PATH descriptor stands for, if it is a regular file: devices and pipes are never opened. */
static int reopen(int at, struct stat *info)
{
	char link[64];

	if (at < 0)
		return -1;
	if (fstat(at, info) || !S_ISREG(info->st_mode)) {
		close(at);
		errno = EINVAL;
		return -1;
	}
	format_path(link, sizeof link, "/proc/self/fd/%d", at);
	int file = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	close(at);
	return file;
}

int open_below(int root, const char *path, struct stat *info)
{
	int at = fcntl(root, F_DUPFD_CLOEXEC, 3);

	while (at >= 0 && *(path += strspn(path, "/"))) {
		size_t length = strcspn(path, "/");
		char name[256];
		int next = -1;

		errno = ENAMETOOLONG;
		if (length < sizeof name && !(length == 2 && !memcmp(path, "..", 2))) {
			memcpy(name, path, length);
			name[length] = 0;
			/* a symlink is opened as itself: no folder to go on from, and no regular file */
			next = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		}
		int error = errno;

		close(at);
		errno = error;
		at = next;
		path += length;
	}
	return reopen(at, info);
}

int open_link(const char *link, struct stat *info)
{
	return reopen(open(link, O_PATH | O_CLOEXEC), info);
}

int open_root_of(pid_t pid)
{
	char path[64];

	return open(format_path(path, sizeof path, "/proc/%d/root", (int)pid), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int next_mapping(char **text, struct mapping *mapping)
{
	static const char deleted[] = " (deleted)";

	while (*text && **text) {
		char *line = *text, *end = strchr(line, '\n'), permissions[5];
		unsigned long long start, stop, inode;
		int path = 0;
		size_t length;

		*text = end ? end + 1 : line + strlen(line);
		if (end)
			*end = 0;
		if (sscanf(line, "%llx-%llx %4s %*x %*x:%*x %llu %n", &start, &stop, permissions, &inode, &path) < 4 || !path ||
		    permissions[2] != 'x' || line[path] != '/' || !strncmp(line + path, "//", 2))
			continue;
		mapping->path = line + path;
		length = strlen(mapping->path);
		mapping->is_deleted = length > sizeof deleted - 1 &&
				      !strcmp(mapping->path + length - (sizeof deleted - 1), deleted);
		if (mapping->is_deleted)
			mapping->path[length - (sizeof deleted - 1)] = 0;
		mapping->start = start;
		mapping->end = stop;
		mapping->inode = inode;
		return 1;
	}
	return 0;
}

int read_owner(pid_t pid, struct owner *owner)
{
	struct buffer text = { NULL, 0, 0 };
	char path[64];
	const char *uids, *numbers;
	int found = 0;

	owner->nspid = pid;
	if (!read_file(format_path(path, sizeof path, "/proc/%d/status", (int)pid), &text, 1 << 16) && text.length &&
	    (uids = strstr(text.data, "\nUid:"))) {
		found = sscanf(uids + 5, "%u %u %u %u", &owner->uids[0], &owner->uids[1], &owner->uids[2], &owner->uids[3]) == 4;
		/* outermost to innermost; not before Linux 4.1 */
		if ((numbers = strstr(text.data, "\nNSpid:")))
			for (numbers += 7; *numbers == '\t' || *numbers == ' '; numbers += strspn(numbers, "0123456789"))
				owner->nspid = atoi(++numbers);
	}
	free(text.data);
	return found ? 0 : -1;
}

int64_t started_realtime_ns(pid_t pid)
{
	struct buffer text = { NULL, 0, 0 };
	long long ticks = 0;
	char path[64];
	int found = !read_file(format_path(path, sizeof path, "/proc/%d/stat", (int)pid), &text, 4096) && text.length &&
		    !proc_stat_field(text.data, 22, &ticks);

	free(text.data);
	/* a number that no clock reaches is no time */
	if (!found || __builtin_mul_overflow(ticks, 1000000000 / sysconf(_SC_CLK_TCK), &ticks) || ticks > INT64_MAX / 2)
		return 0;
	return clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME) + ticks;
}

int is_elsewhere(pid_t pid)
{
	char path[64], own[64], other[64], root[8];
	ssize_t own_length = readlink("/proc/self/ns/mnt", own, sizeof own);
	ssize_t length = readlink(format_path(path, sizeof path, "/proc/%d/ns/mnt", (int)pid), other, sizeof other);

	if (length < 0)
		return 0;
	if (length != own_length || memcmp(own, other, (size_t)length))
		return 1;
	length = readlink(format_path(path, sizeof path, "/proc/%d/root", (int)pid), root, sizeof root);
	return length > 0 && !(length == 1 && *root == '/');
}
