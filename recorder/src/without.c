/* without.c: a command in a mount namespace of its own, where one file is empty. */
#define _GNU_SOURCE
#include "util.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

/* without FILE COMMAND...: becomes the command, and FILE is /dev/null to it. Where that cannot be had (no right to mount, no
 * such file), it becomes the command all the same. */
int command_without(int argc, char **argv)
{
	if (argc < 3)
		die("usage: without FILE COMMAND...");
	/* private first: the mount must not reach the rest of the host */
	if (!unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		mount("/dev/null", argv[1], NULL, MS_BIND, NULL);
	execvp(argv[2], argv + 2);
	warn("%s: %s", argv[2], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}
