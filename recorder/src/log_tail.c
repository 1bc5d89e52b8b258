/* log_tail.c: the file may be anyone's: a pipe or a device is never opened, and a look reads a bounded amount. */
#define _GNU_SOURCE
#include "log_tail.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 1 << 16, LOOK_MOST = 4 << 20, BEHIND_MOST = 64 << 20 };

/* Only a regular file is opened: opening a pipe would wake its writer up, and a device may do anything. */
static int open_regular(const char *path, struct stat *info)
{
	char link[64];
	int place = open(path, O_PATH | O_CLOEXEC), file = -1;

	if (place < 0)
		return -1;
	if (!fstat(place, info) && S_ISREG(info->st_mode))
		file = open(format_path(link, sizeof link, "/proc/self/fd/%d", place), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	else
		errno = EINVAL;
	close(place);
	return file;
}

static void follow(struct log_tail *log, int from_end)
{
	struct stat info;

	log->kept = 0;
	if ((log->file = open_regular(log->path, &info)) < 0)
		return;
	log->device = info.st_dev;
	log->inode = info.st_ino;
	log->at = from_end ? info.st_size : 0;
}

const char *log_begin(struct log_tail *log, char *path, char *text)
{
	*log = (struct log_tail){ .path = path, .text = text, .file = -1, .block = checked_realloc(NULL, BLOCK) };
	if (!*path || !*text || strlen(text) > 4096 || strchr(text, '\n'))
		return "log:FILE:TEXT, the text on one line";
	follow(log, 1);
	if (log->file < 0 && errno == EINVAL)
		return "the file is not a regular one";
	if (log->file < 0 && errno != ENOENT)
		return "the file cannot be read";
	return NULL;
}

/* Whether the text is in what was written to the open file meanwhile. */
static int read_on(struct log_tail *log)
{
	size_t length = strlen(log->text);
	int found = 0;

	for (size_t total = 0; total < LOOK_MOST;) {
		ssize_t got = pread(log->file, log->block + log->kept, BLOCK - log->kept, log->at);
		size_t have;

		if (got <= 0)
			break;
		log->at += got;
		total += (size_t)got;
		have = log->kept + (size_t)got;
		found |= memmem(log->block, have, log->text, length) != NULL;
		log->kept = have < length - 1 ? have : length - 1;
		memmove(log->block, log->block + have - log->kept, log->kept);
	}
	return found;
}

int log_look(struct log_tail *log)
{
	struct stat info;
	int found = 0, there = !stat(log->path, &info) && S_ISREG(info.st_mode);

	if (log->file >= 0) {
		struct stat own;

		if (!fstat(log->file, &own) && own.st_size < log->at)
			log->at = 0, log->kept = 0; /* it was emptied */
		if (own.st_size - log->at > BEHIND_MOST) {
			warn("%s: grows faster than it is searched: %lld bytes are left out", log->path,
			     (long long)(own.st_size - log->at - LOOK_MOST));
			log->at = own.st_size - LOOK_MOST;
			log->kept = 0;
		}
		found = read_on(log);
		if (there && info.st_dev == log->device && info.st_ino == log->inode)
			return found;
		if (!there)
			return found; /* renamed: what still writes to it is heard until there is another */
		found |= read_on(log);
		close(log->file);
		log->file = -1;
	}
	if (there)
		follow(log, 0);
	return found | (log->file >= 0 ? read_on(log) : 0);
}
