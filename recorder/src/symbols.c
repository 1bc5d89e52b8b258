/* symbols.c: finds the file behind a mapping, and proves that it is that file. */
#define _GNU_SOURCE
#include "symbols.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

static int64_t changed_ns(const struct stat *info)
{
	return (int64_t)info->st_ctim.tv_sec * 1000000000 + info->st_ctim.tv_nsec;
}

/* perf pads build ids that are shorter than 20 bytes with zeros. */
static int is_same_id(const char *left, const char *right)
{
	while (*left && *left == *right)
		left++, right++;
	return !left[strspn(left, "0")] && !right[strspn(right, "0")];
}

/* Whether the inode says that this is another file than the mapped one. On overlayfs a mapping has the inode of the layer below,
 * which need not be the one that is seen. */
static int is_another(int file, const struct wanted *wanted, int is_mapping, const struct stat *info)
{
	long generation = 0; /* the kernel writes an int */
	struct statfs system;

	if (!wanted->inode)
		return 0;
	if (info->st_ino != wanted->inode)
		return !is_mapping && !fstatfs(file, &system) && system.f_type != OVERLAYFS_SUPER_MAGIC;
	return wanted->generation && !ioctl(file, FS_IOC_GETVERSION, &generation) && (uint32_t)generation &&
	       (uint32_t)generation != (uint32_t)wanted->generation;
}

/* Without a build id and a mapping: a file whose inode is not the mapping's for sure must not have changed since the start. */
static int is_sure(const struct wanted *wanted, const struct stat *info)
{
	return (info->st_ino == wanted->inode && wanted->generation) || changed_ns(info) < wanted->start_ns;
}

/* Keeps the file if it is the wanted one. `is_mapping`: it was opened through the mapping itself. */
static int judge(int file, const struct wanted *wanted, int is_mapping, const struct stat *info, char *build_id,
		 const char **reason)
{
	const char *trouble;

	if (file < 0)
		return -1;
	if ((trouble = elf_build_id(file, build_id)))
		*reason = trouble;
	else if (*wanted->build_id && !is_same_id(build_id, wanted->build_id))
		*reason = "build id mismatch";
	else if (is_another(file, wanted, is_mapping, info))
		*reason = "another file is at its path";
	else if (!*wanted->build_id && !is_mapping && !is_sure(wanted, info))
		*reason = "changed since it was mapped, and without a build id to compare";
	else
		return file;
	close(file);
	return -1;
}

/* The mapping of this file in a process, from its maps; 0 if it has none. The inode there is perf's. */
static int find_mapping(pid_t pid, const struct wanted *wanted, struct mapping *mapping)
{
	static struct buffer maps;
	char name[64], *text;

	if (read_file(format_path(name, sizeof name, "/proc/%d/maps", (int)pid), &maps, MAPS_LIMIT) || !maps.data)
		return 0;
	text = maps.data;
	while (next_mapping(&text, mapping))
		if (!strcmp(mapping->path, wanted->path) && (!wanted->inode || mapping->inode == wanted->inode))
			return 1;
	return 0;
}

int open_mapped(pid_t pid, const struct wanted *wanted, struct stat *info, char build_id[ELF_BUILD_ID_HEX],
		const char **reason)
{
	char link[128], target[MAPPED_PATH + 16];
	struct mapping mapping;
	ssize_t length;
	int root, file = -1, is_mapped = find_mapping(pid, wanted, &mapping);

	if (is_mapped) {
		format_path(link, sizeof link, "/proc/%d/map_files/%llx-%llx", (int)pid, (unsigned long long)mapping.start,
			    (unsigned long long)mapping.end);
		file = judge(open_link(link, info), wanted, 1, info, build_id, reason);
		if (file < 0 && mapping.is_deleted) {
			*reason = "deleted and unreadable";
			length = readlink(format_path(link, sizeof link, "/proc/%d/exe", (int)pid), target, sizeof target - 1);
			target[length > 0 ? length : 0] = 0;
			if (!strncmp(target, wanted->path, strlen(wanted->path)) &&
			    !strcmp(target + strlen(wanted->path), " (deleted)"))
				file = judge(open_link(link, info), wanted, 1, info, build_id, reason);
		}
	}
	if (file >= 0 || (is_mapped && mapping.is_deleted) || (root = open_root_of(pid)) < 0)
		return file;
	file = open_below(root, wanted->path, info);
	/* as long as it is mapped, its inode is no other file's */
	file = judge(file, wanted, file >= 0 && is_mapped && info->st_ino == mapping.inode, info, build_id, reason);
	close(root);
	return file;
}

int open_own(const struct wanted *wanted, struct stat *info, char build_id[ELF_BUILD_ID_HEX], const char **reason)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), file;

	if (root < 0)
		return -1;
	file = judge(open_below(root, wanted->path, info), wanted, 0, info, build_id, reason);
	int error = errno;

	close(root);
	errno = error;
	return file;
}

int is_jitdump(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t digits;

	if (!name || strncmp(name, "/jit-", 5))
		return 0;
	digits = strspn(name + 5, "0123456789");
	return digits && digits <= 9 && !strcmp(name + 5 + digits, ".dump"); /* a pid: atoi() reads it */
}

int is_its_own(const struct stat *info, const uint32_t *uids, size_t uid_count, int64_t since_ns)
{
	const int64_t clock_step_ns = 20000000; /* file times are those of the last tick */
	int64_t written_ns = (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;

	/* a second name would let anyone place another's file here */
	if (info->st_nlink > 1 || written_ns + clock_step_ns < since_ns)
		return 0;
	for (size_t i = 0; i < uid_count; i++)
		if (info->st_uid == uids[i])
			return 1;
	return 0;
}

void bundle_perf_map(struct bundle *bundle, int file, pid_t pid, pid_t nspid)
{
	char member[64], path[64];
	struct stat info;

	if (fstat(file, &info))
		return;
	format_path(member, sizeof member, "perf-map/%d", (int)pid);
	format_path(path, sizeof path, "/tmp/perf-%d.map", (int)nspid);
	bundle_copy(bundle, file, &info, "perf-map", member, path, pid, nspid);
}

void bundle_jitdump(struct bundle *bundle, int file, const char *path, pid_t pid, pid_t nspid)
{
	char member[64];
	struct stat info;
	int number = 0;

	if (fstat(file, &info))
		return;
	for (size_t i = 0; i < bundle->count; i++)
		number += bundle->rows[i].pid == pid && !strcmp(bundle->rows[i].kind, "jitdump");
	format_path(member, sizeof member, "jitdump/%d-%d", (int)pid, number);
	bundle_copy(bundle, file, &info, "jitdump", member, path, pid, nspid);
}

/* symbols watch FOLDER table|mapped|full unwind|- BYTES START_NS SCOPE: until it is told to stop, takes what may be gone later.
 * symbols flight FOLDER table|mapped|full unwind|- BYTES START_NS SCOPE: when it is told to stop, takes what may be gone soon.
 * symbols collect FOLDER table|mapped|full unwind|- BYTES START_NS PERF_DATA [SAMPLES]: takes the rest. SAMPLES is a perf.data too,
 * of callchains only. */
int command_symbols(int argc, char **argv)
{
	struct bundle bundle;
	int64_t start_ns;

	if (argc != 4 + BUNDLE_OPTIONS && argc != 5 + BUNDLE_OPTIONS)
		die("usage: symbols watch|flight|collect FOLDER table|mapped|full unwind|- BYTES START_NS SCOPE|PERF_DATA [SAMPLES]");
	start_ns = parse_integer(argv[2 + BUNDLE_OPTIONS]);
	bundle_open(&bundle, argv + 2);
	if (!strcmp(argv[1], "watch") || !strcmp(argv[1], "flight"))
		return symbols_watch(&bundle, argv[3 + BUNDLE_OPTIONS], start_ns, *argv[1] == 'f');
	return symbols_collect(&bundle, argv[3 + BUNDLE_OPTIONS], argv[4 + BUNDLE_OPTIONS], start_ns);
}
