/* instance.c: a private ftrace instance is locked by its owner for as long as the owner lives. The lock is on the instance's own
 * folder, which is one for all namespaces and mounts; process ids differ between them, and come again. */
#define _GNU_SOURCE
#include "instance.h"
#include "util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, TRIES = 100 };
static const int64_t step_ns = 20000000;

/* The folder, open and locked; -1 if it is somebody's, or gone. */
static int lock_folder(const char *path)
{
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat info;

	if (folder < 0)
		return -1;
	if (!flock(folder, LOCK_EX | LOCK_NB) && !fstat(folder, &info) && info.st_nlink)
		return folder;
	close(folder);
	return -1;
}

int instance_make(const char *path)
{
	/* a sweep may remove it before it is locked */
	for (int tries = 0; tries < TRIES; tries++) {
		int folder;

		if (mkdir(path, 0700) && errno != EEXIST)
			die("%s: %s", path, strerror(errno));
		if ((folder = lock_folder(path)) >= 0)
			return folder;
		sleep_ns(step_ns);
	}
	die("%s is another recorder's", path);
}

int instance_remove(const char *path)
{
	char file[PATH_SIZE];

	write_control(format_path(file, sizeof file, "%s/tracing_on", path), "0");
	write_control(format_path(file, sizeof file, "%s/events/enable", path), "0");
	/* a reader that is just ending keeps it busy for a moment */
	for (int tries = 0; rmdir(path); tries++) {
		if (errno == ENOENT)
			break;
		if (tries == TRIES || stop_requested) {
			warn("%s stays: %s. rmdir it later", path, strerror(errno));
			return -1;
		}
		sleep_ns(step_ns);
	}
	return 0;
}

/* lock FD: the lock is the open file's: it stays with the shell that opened it, and its children. Exit 1: somebody has it. */
int command_lock(int argc, char **argv)
{
	if (argc != 2)
		die("usage: lock FD");
	return flock(atoi(argv[1]), LOCK_EX | LOCK_NB) ? 1 : 0;
}

/* sweep INSTANCES: removes the recorders' instances that have no owner: it was killed with SIGKILL. */
int command_sweep(int argc, char **argv)
{
	char path[PATH_SIZE];
	struct dirent *item;
	int status = 0;
	DIR *dir;

	if (argc != 2)
		die("usage: sweep INSTANCES");
	catch_stop_signals();
	if (!(dir = opendir(argv[1])))
		die("%s: %s", argv[1], strerror(errno));
	while (!stop_requested && (item = readdir(dir))) {
		int folder;

		if (strncmp(item->d_name, "perfcase-", 9))
			continue;
		folder = lock_folder(format_path(path, sizeof path, "%s/%s", argv[1], item->d_name));
		if (folder < 0)
			continue;
		status |= instance_remove(path);
		close(folder);
	}
	closedir(dir);
	return status ? 1 : 0;
}
