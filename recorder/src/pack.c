/* pack.c: lists a folder's members, and writes the folder as one .perfcase: POSIX ustar, manifest first. */
#define _GNU_SOURCE
#include "sha256.h"
#include "squeeze.h"
#include "util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MANIFEST "manifest.json"
enum { BLOCK = 512, RECORD = 20 * BLOCK, PATH_SIZE = 4096 };

struct entry {
	char *path; /* relative to the folder */
	int64_t size_bytes;
	int64_t mtime_s;
};

struct listing {
	struct entry *entries;
	size_t count;
};

static void list_folder(struct listing *list, const char *root, const char *below)
{
	char path[PATH_SIZE];
	DIR *dir = opendir(format_path(path, sizeof path, "%s/%s", root, below));
	struct dirent *item;

	if (!dir)
		die("%s: %s", path, strerror(errno));
	while ((item = readdir(dir))) {
		struct stat info;
		char relative[PATH_SIZE];

		if (item->d_name[0] == '.')
			continue;
		format_path(relative, sizeof relative, "%s%s%s", below, *below ? "/" : "", item->d_name);
		if (lstat(format_path(path, sizeof path, "%s/%s", root, relative), &info))
			continue;
		if (S_ISDIR(info.st_mode)) {
			list_folder(list, root, relative);
		} else if (S_ISREG(info.st_mode)) {
			list->entries = checked_realloc(list->entries, (list->count + 1) * sizeof *list->entries);
			list->entries[list->count++] =
				(struct entry){ checked_strdup(relative), info.st_size, info.st_mtime };
		}
	}
	closedir(dir);
}

/* Small members first, so that a cut archive keeps as many as possible; then by name. */
static int by_size(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->size_bytes != b->size_bytes)
		return a->size_bytes < b->size_bytes ? -1 : 1;
	return strcmp(a->path, b->path);
}

static struct listing list_sorted(const char *root)
{
	struct listing list = { NULL, 0 };

	list_folder(&list, root, "");
	if (list.count)
		qsort(list.entries, list.count, sizeof *list.entries, by_size);
	return list;
}

/* "<bytes> <folder>" of what lies in each folder. A file that is counted has no path any more. */
static void print_folders(struct listing *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const char *path = list->entries[i].path, *slash = strchr(path, '/');
		size_t length = slash ? (size_t)(slash - path) + 1 : 0;
		int64_t size_bytes = 0;

		for (size_t k = i; slash && k < list->count; k++)
			if (!strncmp(list->entries[k].path, path, length)) {
				size_bytes += list->entries[k].size_bytes;
				if (k > i)
					list->entries[k].path[0] = 0;
			}
		if (slash)
			printf("%lld %.*s\n", (long long)size_bytes, (int)length - 1, path);
	}
}

/* sizes DIR: "<bytes> <path>" of every file, as it was recorded. sizes DIR folders: "<bytes> <folder>" of what lies in each. */
int command_sizes(int argc, char **argv)
{
	struct listing list;
	int in_folders = argc == 3 && !strcmp(argv[2], "folders");

	if (argc != 2 && !in_folders)
		die("usage: sizes DIR [folders]");
	list = list_sorted(argv[1]);
	for (size_t i = 0; i < list.count; i++) {
		int64_t raw_bytes = squeezed_from(argv[1], list.entries[i].path);

		if (raw_bytes >= 0) {
			list.entries[i].path[strlen(list.entries[i].path) - 4] = 0;
			list.entries[i].size_bytes = raw_bytes;
		}
	}
	if (in_folders)
		print_folders(&list);
	for (size_t i = 0; !in_folders && i < list.count; i++)
		printf("%lld %s\n", (long long)list.entries[i].size_bytes, list.entries[i].path);
	return 0;
}

/* The size that `sizes` printed for a path, or -1. */
static int64_t original_size(const struct buffer *sizes, const char *path, size_t length)
{
	const char *line = sizes->data;

	while (line && *line) {
		const char *end = strchrnul(line, '\n'), *name = memchr(line, ' ', (size_t)(end - line));

		if (name && (size_t)(end - name - 1) == length && !memcmp(name + 1, path, length))
			return atoll(line);
		line = *end ? end + 1 : end;
	}
	return -1;
}

/* members DIR SIZES: the JSON array of the manifest; SIZES is what `sizes` printed before compression. */
int command_members(int argc, char **argv)
{
	struct buffer sizes = { NULL, 0, 0 };
	struct listing list;
	int error, first = 1;

	if (argc != 3)
		die("usage: members DIR SIZES");
	if ((error = read_file(argv[2], &sizes, 64 << 20)))
		die("%s: %s", argv[2], strerror(error));
	list = list_sorted(argv[1]);
	putchar('[');
	for (size_t i = 0; i < list.count; i++) {
		struct entry *entry = &list.entries[i];
		size_t length = strlen(entry->path);
		const char *compression = "none";
		char path[PATH_SIZE], hex[65], source[64];

		if (!strcmp(entry->path, MANIFEST))
			continue;
		if ((error = sha256_file(format_path(path, sizeof path, "%s/%s", argv[1], entry->path), hex)))
			die("%s: %s", path, strerror(error));
		if (length > 4 && !strcmp(entry->path + length - 4, ".zst"))
			compression = "zstd", length -= 4;
		else if (length > 3 && !strcmp(entry->path + length - 3, ".gz"))
			compression = "gzip", length -= 3;
		snprintf(source, sizeof source, "%.*s", (int)strcspn(entry->path, "/"), entry->path);
		printf("%s\n    {\"path\":", first ? "" : ",");
		json_string(stdout, entry->path);
		printf(",\"source\":");
		json_string(stdout, source);
		printf(",\"compression\":\"%s\",\"size_bytes\":%lld,\"stored_bytes\":%lld,\"sha256\":\"%s\"}",
		       compression, (long long)(*compression == 'n' ? entry->size_bytes : original_size(&sizes, entry->path, length)),
		       (long long)entry->size_bytes, hex);
		first = 0;
	}
	puts("]");
	return 0;
}

/* A ustar number field: octal, or base-256 (GNU, POSIX 2001 readers know it) where octal is too short. */
static void put_number(char *field, size_t size, int64_t value)
{
	if (value < (int64_t)1 << 3 * (size - 1)) {
		snprintf(field, size, "%0*llo", (int)size - 1, (long long)value);
		return;
	}
	for (size_t i = size; i-- > 1; value >>= 8)
		field[i] = (char)(value & 0xff);
	field[0] = (char)0x80;
}

/* Fills a ustar header (POSIX.1-1988): name is split at a slash into prefix (155) and name (100). */
static int make_header(char header[BLOCK], const struct entry *entry)
{
	size_t length = strlen(entry->path), split = 0;
	unsigned sum = 0;

	memset(header, 0, BLOCK);
	if (length > 100) {
		for (split = length - 101; split < length && entry->path[split] != '/'; split++)
			;
		if (split >= length || split > 155)
			return -1;
		memcpy(header + 345, entry->path, split++);
	}
	memcpy(header, entry->path + split, length - split);
	put_number(header + 100, 8, 0644);
	put_number(header + 108, 8, 0);
	put_number(header + 116, 8, 0);
	put_number(header + 124, 12, entry->size_bytes);
	put_number(header + 136, 12, entry->mtime_s < 0 ? 0 : entry->mtime_s);
	memset(header + 148, ' ', 8);
	header[156] = '0';
	memcpy(header + 257, "ustar\0" "00", 8);
	memcpy(header + 265, "root", 4);
	memcpy(header + 297, "root", 4);
	put_number(header + 329, 8, 0);
	put_number(header + 337, 8, 0);
	for (int i = 0; i < BLOCK; i++)
		sum += (unsigned char)header[i];
	snprintf(header + 148, 8, "%06o", sum);
	return 0;
}

static void write_or_die(const void *data, size_t length)
{
	if (write_all(STDOUT_FILENO, data, length))
		die("writing the archive: %s", strerror(errno));
}

static int64_t pack_entry(const char *root, const struct entry *entry)
{
	static char chunk[1 << 18];
	char header[BLOCK], path[PATH_SIZE];
	int64_t left = entry->size_bytes, padding = (BLOCK - entry->size_bytes % BLOCK) % BLOCK;
	int in = open(format_path(path, sizeof path, "%s/%s", root, entry->path), O_RDONLY | O_CLOEXEC);

	if (in < 0)
		die("%s: %s", path, strerror(errno));
	if (make_header(header, entry)) {
		warn("%s: the name is too long for ustar; left out", entry->path);
		close(in);
		return 0;
	}
	write_or_die(header, BLOCK);
	while (left) {
		ssize_t got = read(in, chunk, left < (int64_t)sizeof chunk ? (size_t)left : sizeof chunk);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			die("%s: shrank while it was packed", path);
		write_or_die(chunk, (size_t)got);
		left -= got;
	}
	close(in);
	memset(chunk, 0, BLOCK);
	write_or_die(chunk, (size_t)padding);
	return BLOCK + entry->size_bytes + padding;
}

/* An archive that does not fit is not begun: it would fill the disk for a moment. */
static void check_room(const struct listing *list)
{
	const int64_t spare_bytes = 4 << 20;
	struct statvfs disk;
	struct stat info;
	int64_t wanted = spare_bytes;

	if (fstat(STDOUT_FILENO, &info) || !S_ISREG(info.st_mode) || fstatvfs(STDOUT_FILENO, &disk))
		return;
	for (size_t i = 0; i < list->count; i++)
		wanted += list->entries[i].size_bytes + 2 * BLOCK;
	if ((int64_t)disk.f_bavail * (int64_t)disk.f_frsize < wanted)
		die("the archive needs %lld MB, which are not free", (long long)(wanted >> 20) + 1);
}

/* Makes a named pipe the standard output; waits for its reader. Nothing but a pipe is opened for writing. */
static void write_to_pipe(const char *path)
{
	char name[64];
	struct stat info;
	int pipe = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC), out;

	if (pipe < 0 || fstat(pipe, &info))
		die("%s: %s", path, strerror(errno));
	if (!S_ISFIFO(info.st_mode))
		die("%s: is no longer a pipe", path);
	out = open(format_path(name, sizeof name, "/proc/self/fd/%d", pipe), O_WRONLY | O_CLOEXEC);
	if (out < 0 || dup2(out, STDOUT_FILENO) < 0)
		die("%s: %s", path, strerror(errno));
}

/* pack DIR [PIPE]: the archive on standard output, or into a named pipe: manifest.json first, then the other files. */
int command_pack(int argc, char **argv)
{
	static const char zeros[RECORD];
	struct listing list;
	int64_t total = 0;

	if (argc != 2 && argc != 3)
		die("usage: pack DIR [PIPE]");
	signal(SIGPIPE, SIG_IGN);
	if (argc == 3)
		write_to_pipe(argv[2]);
	list = list_sorted(argv[1]);
	check_room(&list);
	for (size_t i = 0; i < list.count; i++)
		if (!strcmp(list.entries[i].path, MANIFEST))
			total += pack_entry(argv[1], &list.entries[i]);
	if (!total)
		die("%s has no " MANIFEST, argv[1]);
	for (size_t i = 0; i < list.count; i++)
		if (strcmp(list.entries[i].path, MANIFEST))
			total += pack_entry(argv[1], &list.entries[i]);
	/* two zero blocks end the archive; tar pads to a record of 20 blocks */
	total += 2 * BLOCK;
	write_or_die(zeros, 2 * BLOCK);
	write_or_die(zeros, (size_t)((RECORD - total % RECORD) % RECORD));
	/* a pipe cannot */
	if (fsync(STDOUT_FILENO) && errno != EINVAL && errno != EROFS)
		die("writing the archive: %s", strerror(errno));
	return 0;
}
