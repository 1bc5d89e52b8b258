// Lets one call fail that writes below a folder, in this process and all that it starts: for LD_PRELOAD.
//   FAILING_BELOW   the folder
//   FAILING_AT      which call fails, from 1 on; 0: none
//   FAILING_ERRNO   with which error
//   FAILING_COUNT   a file of 8 bytes: how many calls there were
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *below;
static long at, error;
static _Atomic long *count;

__attribute__((constructor)) static void begin(void) {
	const char *file = getenv("FAILING_COUNT");
	int fd = file ? open(file, O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	count = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	below = getenv("FAILING_BELOW");
	at = atol(getenv("FAILING_AT"));
	error = atol(getenv("FAILING_ERRNO"));
}

static int fails(void) {
	if (atomic_fetch_add(count, 1) + 1 != at)
		return 0;
	errno = (int)error;
	return 1;
}

static int fails_name(const char *name) {
	return below && name && !strncmp(name, below, strlen(below)) && fails();
}

static int fails_fd(int fd) {
	char link[40], path[PATH_MAX];
	if (!below)
		return 0;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, path, sizeof path - 1);
	if (length < 0)
		return 0;
	path[length] = 0;
	return fails_name(path);
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define ON_FD(type, name, parameters, arguments) \
	type name parameters { REAL(name); return fails_fd(fd) ? -1 : real arguments; }

ON_FD(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
ON_FD(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t offset), (fd, data, size, offset))
ON_FD(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t offset), (fd, data, size, offset))
ON_FD(ssize_t, writev, (int fd, const struct iovec *parts, int number), (fd, parts, number))
ON_FD(int, fsync, (int fd), (fd))
ON_FD(int, fdatasync, (int fd), (fd))
ON_FD(int, ftruncate, (int fd, off_t size), (fd, size))
ON_FD(int, ftruncate64, (int fd, off64_t size), (fd, size))
ON_FD(ssize_t, sendfile, (int fd, int in, off_t *offset, size_t size), (fd, in, offset, size))
ON_FD(ssize_t, sendfile64, (int fd, int in, off64_t *offset, size_t size), (fd, in, offset, size))
ON_FD(ssize_t, copy_file_range, (int in, off64_t *from, int fd, off64_t *to, size_t size, unsigned flags), (in, from, fd, to, size, flags))

int rename(const char *from, const char *to) {
	REAL(rename);
	return fails_name(to) ? -1 : real(from, to);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags) {
	REAL(renameat2);
	return fails_name(to) ? -1 : real(from_fd, from, to_fd, to, flags);
}

int mkdir(const char *path, mode_t mode) {
	REAL(mkdir);
	return fails_name(path) ? -1 : real(path, mode);
}

#define OPENS(name) \
	int name(const char *path, int flags, ...) { \
		REAL(name); \
		va_list rest; \
		va_start(rest, flags); \
		mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0; \
		va_end(rest); \
		return flags & O_CREAT && fails_name(path) ? -1 : real(path, flags, mode); \
	}

OPENS(open)
OPENS(open64)
