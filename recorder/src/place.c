/* place.c: gives a finished file its name without taking that name from another file. */
#define _GNU_SOURCE
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

/* place FILE NAME [force]: renames FILE; with force NAME may be a regular file that goes. Exit 1: the name is another's. */
int command_place(int argc, char **argv)
{
	struct stat info;
	int claim;

	if (argc != 3 && (argc != 4 || strcmp(argv[3], "force")))
		die("usage: place FILE NAME [force]");
	if (argc == 4 && !lstat(argv[2], &info) && S_ISREG(info.st_mode) && !rename(argv[1], argv[2]))
		return 0;
	if (!syscall(SYS_renameat2, AT_FDCWD, argv[1], AT_FDCWD, argv[2], RENAME_NOREPLACE))
		return 0;
	/* NFS and old kernels cannot: there an empty file of ours takes the name first */
	if (errno == EINVAL || errno == ENOSYS) {
		claim = open(argv[2], O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (claim >= 0 && !close(claim) && !rename(argv[1], argv[2]))
			return 0;
	}
	if (errno != EEXIST)
		warn("%s: %s", argv[2], strerror(errno));
	return 1;
}
