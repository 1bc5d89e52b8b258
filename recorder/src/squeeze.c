/* squeeze.c: compresses the large raw files while they are recorded, so that a fraction of the raw data lies on the disk.
 *
 * A file that becomes large is renamed to a name with a dot, which its writer does not notice. What is there is compressed by zstd,
 * a frame at a time, to the end of FILE.zst, and then taken out of the file (a hole). When the recording is over, the rest follows
 * and the file goes. FILE.zst is whole frames at any time: a recorder that is killed leaves what can be read. A perf.data gets its
 * header at the end: its first pages become a frame of raw blocks (RFC 8878), which can be written once more.
 *
 * .state/squeezed has a line for each step: RAW_BYTES STORED_BYTES HEAD_BYTES PATH. The last one of a path counts. */
#define _GNU_SOURCE
#include "squeeze.h"
#include "util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	PATH_SIZE = 4096, NAME_SIZE = 64, PAGE = 4096, FILES_MOST = 8192, HEAD_MOST = 1 << 20, BLOCK = 128 << 10, FRAME_HEAD = 9, BLOCK_HEAD = 3,
	STEP_LEAST = 1 << 20, STEP_MOST = 16 << 20, WAITING_MOST = 12 << 20, BEHIND = 24 << 20,
};

struct squeezed {
	int64_t raw, stored, head;
	char path[NAME_SIZE];
	int is_refused, is_claimed;
};

struct folder {
	const char *root;
	struct squeezed *files;
	size_t count;
};

static struct squeezed *find(struct folder *folder, const char *path)
{
	for (size_t i = 0; i < folder->count; i++)
		if (!strcmp(folder->files[i].path, path))
			return &folder->files[i];
	if (folder->count == FILES_MOST || strlen(path) >= NAME_SIZE)
		return NULL;
	folder->files = checked_realloc(folder->files, (folder->count + 1) * sizeof *folder->files);
	folder->files[folder->count] = (struct squeezed){ 0 };
	strcpy(folder->files[folder->count].path, path);
	return &folder->files[folder->count++];
}

static void read_index(struct folder *folder)
{
	char path[PATH_SIZE], *rest;
	struct buffer text = { NULL, 0, 0 };

	if (!read_file(format_path(path, sizeof path, "%s/.state/squeezed", folder->root), &text, 64 << 20) && text.length) {
		rest = text.data;
		for (char *line; (line = strsep(&rest, "\n")) && rest;) { /* a line without end is not whole */
			struct squeezed *file, read = { 0 };
			long long raw, stored, head;

			if (sscanf(line, "%lld %lld %lld %63s", &raw, &stored, &head, read.path) == 4 && (file = find(folder, read.path)))
				file->raw = raw, file->stored = stored, file->head = head;
		}
	}
	free(text.data);
}

static int write_index(const struct folder *folder, const struct squeezed *file)
{
	char path[PATH_SIZE], line[256];
	int out = open(format_path(path, sizeof path, "%s/.state/squeezed", folder->root), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	int error;

	snprintf(line, sizeof line, "%lld %lld %lld %s\n", (long long)file->raw, (long long)file->stored, (long long)file->head, file->path);
	error = out < 0 || write_all(out, line, strlen(line));
	if (out >= 0)
		close(out);
	return error ? -1 : 0;
}

/* The name that a file has while it is squeezed. */
static char *live_name(char out[PATH_SIZE], const char *root, const char *path)
{
	const char *base = strrchr(path, '/') + 1;

	return format_path(out, PATH_SIZE, "%s/%.*s.%s", root, (int)(base - path), path, base);
}

/* The name says if the file was taken on: the index may be of one who was killed before, or just after, it gave that name. */
static int open_live(const char *root, struct squeezed *file, char name[PATH_SIZE])
{
	int live = open(live_name(name, root, file->path), O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	file->is_claimed = live >= 0;
	return live >= 0 ? live : open(format_path(name, PATH_SIZE, "%s/%s", root, file->path), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
}

/* Locked, and the zstd that writes to it holds the lock too: that of one who was killed goes on to the end of its frame, which must
 * not come among ours. */
static int open_stored(const char *root, const struct squeezed *file, int flags)
{
	char name[PATH_SIZE];
	int stored = open(format_path(name, sizeof name, "%s/%s.zst", root, file->path), flags | O_NOFOLLOW | O_CLOEXEC, 0600);

	while (stored >= 0 && flock(stored, LOCK_EX) && errno == EINTR)
		if (stop_requested) {
			close(stored);
			return -1;
		}
	return stored;
}

void squeeze_totals(const char *root, int64_t *waiting_bytes, int64_t *stored_bytes)
{
	struct folder folder = { .root = root };
	char name[PATH_SIZE];
	struct stat info;

	*waiting_bytes = *stored_bytes = 0;
	read_index(&folder);
	for (size_t i = 0; i < folder.count; i++) {
		*stored_bytes += folder.files[i].stored;
		if (folder.files[i].stored && !lstat(live_name(name, root, folder.files[i].path), &info) && info.st_size > folder.files[i].raw)
			*waiting_bytes += info.st_size - folder.files[i].raw;
	}
	free(folder.files);
}

int64_t squeezed_from(const char *root, const char *member)
{
	struct folder folder = { .root = root };
	size_t length = strlen(member);
	int64_t bytes = -1;

	if (length < 4 || strcmp(member + length - 4, ".zst"))
		return -1;
	read_index(&folder);
	for (size_t i = 0; i < folder.count; i++)
		if (folder.files[i].stored && strlen(folder.files[i].path) == length - 4 && !memcmp(folder.files[i].path, member, length - 4))
			bytes = folder.files[i].raw;
	free(folder.files);
	return bytes;
}

static int write_at(int file, const void *data, size_t length, int64_t at)
{
	for (const char *from = data; length;) {
		ssize_t put = pwrite(file, from, length, (off_t)at);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return -1;
		from += put, at += put, length -= (size_t)put;
	}
	return 0;
}

/* Writes the first bytes of the file as the first frame: raw blocks. Returns the frame's length, or -1. */
static int64_t write_head(int live, int stored, size_t head)
{
	static unsigned char data[HEAD_MOST], frame[FRAME_HEAD + HEAD_MOST + (HEAD_MOST / BLOCK + 1) * BLOCK_HEAD];
	unsigned char *to = frame;
	/* magic; a single segment whose size has four bytes, no checksum */
	const unsigned char start[FRAME_HEAD] = { 0x28, 0xb5, 0x2f, 0xfd, 0xa0, head & 0xff, head >> 8 & 0xff, head >> 16 & 0xff, 0 };

	if (read_at(live, data, head, 0))
		return -1;
	memcpy(to, start, FRAME_HEAD);
	to += FRAME_HEAD;
	for (size_t at = 0; at < head; at += BLOCK) {
		size_t length = head - at < BLOCK ? head - at : BLOCK;
		unsigned header = (unsigned)length << 3 | (at + length == head);

		for (int i = 0; i < BLOCK_HEAD; i++)
			*to++ = (unsigned char)(header >> 8 * i);
		memcpy(to, data + at, length);
		to += length;
	}
	return write_at(stored, frame, (size_t)(to - frame), 0) ? -1 : to - frame;
}

/* What comes before the records of a perf.data, in whole pages: perf writes that once more at its end. Other files have none. */
static int64_t head_of(int live, const char *path)
{
	uint64_t header[6]; /* struct perf_file_header: magic size attr_size attrs data... */

	if (strcmp(strrchr(path, '/'), "/perf.data"))
		return 0;
	if (read_at(live, header, sizeof header, 0) || memcmp(header, "PERFILE2", 8) || header[5] > HEAD_MOST - PAGE)
		return -1;
	return (int64_t)((header[5] + PAGE - 1) / PAGE * PAGE);
}

static pid_t start_zstd(int in, int out)
{
	pid_t child = fork();

	if (child)
		return child;
	signal(SIGPIPE, SIG_DFL);
	/* who ends the recorder ends it with a whole frame */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
		_exit(126);
	execlp("zstd", "zstd", "-q", "-c", (char *)NULL);
	_exit(127);
}

/* Compresses the bytes up to `end` to the end of FILE.zst, as one frame. */
static int add_frame(struct squeezed *file, int live, int stored, int64_t end)
{
	int ends[2], status = 0, is_cut = 0;
	off_t at = (off_t)file->raw;
	pid_t child;

	if (ftruncate(stored, (off_t)file->stored) || lseek(stored, 0, SEEK_END) < 0 || pipe2(ends, O_CLOEXEC))
		return -1;
	child = start_zstd(ends[0], stored);
	close(ends[0]);
	while (child > 0 && !is_cut && at < end) {
		ssize_t moved = splice(live, &at, ends[1], NULL, (size_t)(end - at), 0);

		is_cut = moved == 0 || (moved < 0 && errno != EINTR);
	}
	close(ends[1]);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (child < 0 || is_cut || status) {
		warn("%s: zstd failed", file->path);
		if (ftruncate(stored, (off_t)file->stored))
			warn("%s.zst: %s", file->path, strerror(errno));
		return -1;
	}
	file->raw = end;
	file->stored = lseek(stored, 0, SEEK_END);
	return 0;
}

/* Takes a file on. One who was killed may have begun that: it is begun again. */
static int claim(const struct folder *folder, struct squeezed *file, int live, int stored)
{
	char name[PATH_SIZE], live_path[PATH_SIZE];
	int64_t head = head_of(live, file->path), length = 0;

	if (head < 0 || ftruncate(stored, 0) || (head && (length = write_head(live, stored, (size_t)head)) < 0))
		return -1;
	file->raw = file->head = head;
	file->stored = length;
	if (write_index(folder, file))
		return -1;
	return rename(format_path(name, sizeof name, "%s/%s", folder->root, file->path), live_name(live_path, folder->root, file->path));
}

/* The disk cannot do it: the file is as it was. */
static void give_up(const struct folder *folder, struct squeezed *file)
{
	char name[PATH_SIZE], other[PATH_SIZE];

	rename(live_name(other, folder->root, file->path), format_path(name, sizeof name, "%s/%s", folder->root, file->path));
	unlink(format_path(name, sizeof name, "%s/%s.zst", folder->root, file->path));
	file->raw = file->stored = file->head = 0;
	file->is_refused = 1;
	write_index(folder, file);
}

static int64_t waiting_bytes(const struct folder *folder, struct squeezed *file)
{
	char name[PATH_SIZE];
	struct stat info;
	int live = file->is_refused ? -1 : open_live(folder->root, file, name);
	int64_t bytes = live < 0 || fstat(live, &info) ? 0 : info.st_size - file->raw;

	if (live >= 0)
		close(live);
	return bytes;
}

/* Compresses what is there up to `end`, a frame of 16 MB at most. */
static int squeeze(const struct folder *folder, struct squeezed *file, int live, int stored, int64_t end)
{
	int64_t from = file->raw;

	if (end - from > STEP_MOST)
		end = from + STEP_MOST;
	if (add_frame(file, live, stored, end) || write_index(folder, file))
		return -1;
	/* a disk that cannot says so at once, and later nothing is lost */
	return fallocate(live, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)(end - from)) && from == file->head ? -1 : 0;
}

/* One frame of a file that has enough for it. */
static void squeeze_some(const struct folder *folder, struct squeezed *file)
{
	int live, stored, is_new;
	char name[PATH_SIZE];
	struct stat info;

	if ((live = open_live(folder->root, file, name)) < 0)
		return;
	is_new = !file->is_claimed;
	/* the index first: what is not in it is not looked for at the end */
	stored = is_new && write_index(folder, file) ? -1 : open_stored(folder->root, file, is_new ? O_RDWR | O_CREAT : O_RDWR);
	if (stored < 0 || fstat(live, &info) || (is_new && claim(folder, file, live, stored)) ||
	    squeeze(folder, file, live, stored, info.st_size / PAGE * PAGE)) {
		warn("%s: the rest is not compressed while it is recorded: %s", file->path, strerror(errno));
		file->is_refused = 1;
		if (is_new && stored >= 0)
			give_up(folder, file);
	}
	if (stored >= 0)
		close(stored);
	close(live);
}

/* The files that become large. */
static void look(struct folder *folder, int with_perf)
{
	char path[PATH_SIZE];
	struct dirent *item;
	DIR *raw = opendir(format_path(path, sizeof path, "%s/ftrace/raw", folder->root));

	if (with_perf)
		find(folder, "perf/perf.data");
	find(folder, "stacks/perf.data");
	while (raw && (item = readdir(raw)))
		if (!strncmp(item->d_name, "cpu", 3) && strlen(item->d_name) < 16 && !strchr(item->d_name, '.'))
			find(folder, format_path(path, sizeof path, "ftrace/raw/%s", item->d_name));
	if (raw)
		closedir(raw);
}

/* The disk of a host that went down may have a hole, or the index a frame, and not the frame itself. Pages of ftrace stand
 * alone: the hole is left out. A perf.data keeps it, as its records have places. */
static void pass_lost(struct squeezed *file, int live, int stored, int64_t size)
{
	off_t data = lseek(live, (off_t)file->raw, SEEK_DATA);
	int is_without_holes = data < 0 && errno != ENXIO;
	int64_t next = data < 0 ? size : data;
	struct stat info;

	if (!fstat(stored, &info) && info.st_size < file->stored)
		warn("%s.zst: %lld bytes at %lld were lost: the host went down while they were written, and what follows cannot be read",
		     file->path, (long long)(file->stored - info.st_size), (long long)info.st_size);
	if (is_without_holes || next == file->raw)
		return;
	warn("%s: %lld bytes at %lld were lost: the host went down while they were compressed", file->path,
	     (long long)(next - file->raw), (long long)file->raw);
	if (!file->head)
		file->raw = next;
}

/* The rest of each file that was begun, and the header; then the file goes. */
static int finish(struct folder *folder)
{
	int status = 0;

	for (size_t i = 0; i < folder->count; i++) {
		struct squeezed *file = &folder->files[i];
		char name[PATH_SIZE];
		struct stat info = { 0 };
		int live, stored, error;

		if ((live = open_live(folder->root, file, name)) < 0)
			continue; /* it is finished */
		if ((stored = open_stored(folder->root, file, O_RDWR)) < 0 && !file->is_claimed) {
			close(live);
			continue; /* it was given up: the file is as it was */
		}
		error = stored < 0 || (!file->is_claimed && claim(folder, file, live, stored)) || fstat(live, &info);
		if (!error)
			pass_lost(file, live, stored, info.st_size);
		error = error || ftruncate(stored, (off_t)file->stored);
		while (!error && file->raw < info.st_size) {
			int64_t before = file->raw;

			squeeze(folder, file, live, stored, info.st_size);
			error = file->raw == before;
		}
		if (error || (file->head && write_head(live, stored, (size_t)file->head) < 0) ||
		    unlink(live_name(name, folder->root, file->path))) {
			warn("%s: %s", name, strerror(errno));
			status = 1;
		}
		if (stored >= 0)
			close(stored);
		close(live);
	}
	return status;
}

/* squeeze FOLDER watch|finish [perf]: until a signal, or what is left to do at the end; perf: also perf.data, which its perf does not
 * read before it ends. */
int command_squeeze(int argc, char **argv)
{
	struct folder folder = { NULL, NULL, 0 };

	if (argc < 3 || argc > 4)
		die("usage: squeeze FOLDER watch|finish [perf]");
	folder.root = argv[1];
	signal(SIGPIPE, SIG_IGN);
	read_index(&folder);
	if (!strcmp(argv[2], "finish"))
		return finish(&folder);
	catch_stop_signals();
	while (!stop_requested) {
		int64_t step, waiting = 0;
		int is_behind = 0;

		look(&folder, argc == 4);
		step = WAITING_MOST / (int64_t)(folder.count ? folder.count : 1);
		step = step < STEP_LEAST ? STEP_LEAST : step > STEP_MOST ? STEP_MOST : step;
		for (size_t i = 0; i < folder.count; i++)
			waiting += waiting_bytes(&folder, &folder.files[i]);
		/* among very many busy programs it would fall behind, and the disk would fill: then it comes first, on one CPU */
		setpriority(PRIO_PROCESS, 0, waiting > BEHIND ? -10 : 0);
		for (size_t i = 0; i < folder.count && !stop_requested; i++)
			if (waiting_bytes(&folder, &folder.files[i]) >= step) {
				squeeze_some(&folder, &folder.files[i]);
				is_behind |= waiting_bytes(&folder, &folder.files[i]) >= step;
			}
		if (!is_behind)
			sleep_ns(200000000);
	}
	return 0;
}
