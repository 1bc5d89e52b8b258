/* kmsg.c: the kernel's log as /dev/kmsg hands it out (Documentation/ABI/testing/dev-kmsg). */
#define _GNU_SOURCE
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KERN = 0, LOG_LIMIT = 8 << 20 };

/* Audit records of what programs were started with, which go here where no audit daemon runs. */
static int has_arguments(const char *record)
{
	return strstr(record, "proctitle=") || strstr(record, "type=1309") || strstr(record, "type=1327");
}

/* kmsg [kernel]: prints the log; with `kernel` only the kernel's own messages without the audit trail. */
int command_kmsg(int argc, char **argv)
{
	static char record[1 << 16];
	int only_kernel = argc == 2 && !strcmp(argv[1], "kernel");
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	size_t total = 0;

	if (argc > 2 || (argc == 2 && !only_kernel))
		die("usage: kmsg [kernel]");
	if (fd < 0)
		die("/dev/kmsg: %s", strerror(errno));
	while (total < LOG_LIMIT) {
		ssize_t got = read(fd, record, sizeof record - 1);
		long priority;

		/* EPIPE: messages were overwritten while reading; their numbers are missing then */
		if (got < 0 && (errno == EPIPE || errno == EINTR))
			continue;
		if (got <= 0)
			break;
		record[got] = 0;
		priority = strtol(record, NULL, 10);
		if (has_arguments(record) || (only_kernel && (priority >> 3 != KERN || strstr(record, ";audit: "))))
			continue;
		fwrite(record, 1, (size_t)got, stdout);
		total += (size_t)got;
	}
	close(fd);
	return 0;
}
