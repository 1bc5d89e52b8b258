/* rotate.c: files that a rotation made are removed, and nothing that has their names since. */
#define _GNU_SOURCE
#include "util.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { IDENTITY_SIZE = 128 };

/* Which file it is, and what was written to it last. False where it is no regular file. */
static int identify(const char *path, char identity[IDENTITY_SIZE], int64_t *size_bytes)
{
	struct stat info;

	if (lstat(path, &info) || !S_ISREG(info.st_mode))
		return 0;
	*size_bytes = info.st_size;
	snprintf(identity, IDENTITY_SIZE, "%llx:%llx:%llx:%llx.%lx", (unsigned long long)info.st_dev,
		 (unsigned long long)info.st_ino, (unsigned long long)info.st_size, (unsigned long long)info.st_mtim.tv_sec,
		 (unsigned long)info.st_mtim.tv_nsec);
	return 1;
}

/* identity FILE: prints its size, and a word that no other file has. */
int command_identity(int argc, char **argv)
{
	char identity[IDENTITY_SIZE];
	int64_t size_bytes;

	if (argc != 2)
		die("usage: identity FILE");
	if (!identify(argv[1], identity, &size_bytes))
		return 1;
	printf("%lld %s\n", (long long)size_bytes, identity);
	return 0;
}

/* drop FILE IDENTITY: removes it if it is still that one. */
int command_drop(int argc, char **argv)
{
	char identity[IDENTITY_SIZE];
	int64_t size_bytes;

	if (argc != 3)
		die("usage: drop FILE IDENTITY");
	if (!identify(argv[1], identity, &size_bytes) || strcmp(identity, argv[2]))
		return 1;
	return unlink(argv[1]) ? 1 : 0;
}
