/* disk.c: how much a recording may still write: it must not fill the host's disk. */
#define _GNU_SOURCE
#include "util.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

int64_t folder_bytes(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *item;
	int64_t total = 0;

	if (!dir)
		return 0;
	while ((item = readdir(dir))) {
		struct stat info;
		char child[4096];

		if (item->d_name[0] == '.' || fstatat(dirfd(dir), item->d_name, &info, AT_SYMLINK_NOFOLLOW))
			continue;
		if (S_ISDIR(info.st_mode))
			total += folder_bytes(format_path(child, sizeof child, "%s/%s", path, item->d_name));
		else if (S_ISREG(info.st_mode))
			total += info.st_size;
	}
	closedir(dir);
	return total;
}

int64_t disk_room(const char *folder, int64_t raw_bytes, int64_t reserve_bytes)
{
	struct statvfs disk;
	int64_t room;

	if (statvfs(folder, &disk))
		return INT64_MAX;
	room = (int64_t)disk.f_bavail * (int64_t)disk.f_frsize - reserve_bytes - raw_bytes / 2;
	return room > 0 ? room : 0;
}

/* room DIR RESERVE_BYTES: prints how many bytes DIR may still grow by. */
int command_room(int argc, char **argv)
{
	if (argc != 3)
		die("usage: room DIR RESERVE_BYTES");
	printf("%lld\n", (long long)disk_room(argv[1], folder_bytes(argv[1]), parse_integer(argv[2])));
	return 0;
}
