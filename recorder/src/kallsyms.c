/* kallsyms.c: the kernel's functions, out of what /proc/kallsyms says of all its symbols. */
#define _GNU_SOURCE
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* "ffffffff81000000 T _stext": a function, at an address that is not hidden. A data symbol names no frame. */
static int is_function(const char *line, size_t length)
{
	const char *space = memchr(line, ' ', length), *end = line + length;

	if (!space || end - space < 3 || space[2] != ' ' || !memchr("tTwW", space[1], 4))
		return 0;
	while (line < space && *line == '0')
		line++;
	return line < space;
}

/* kallsyms: prints the lines of functions. */
int command_kallsyms(int argc, char **argv)
{
	static char text[1 << 16];
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	size_t kept = 0;
	ssize_t got;

	(void)argc, (void)argv;
	if (fd < 0)
		die("/proc/kallsyms: %s", strerror(errno));
	while ((got = read(fd, text + kept, sizeof text - kept)) > 0 || (got < 0 && errno == EINTR)) {
		char *line = text, *end = text + kept + (got > 0 ? got : 0), *newline;

		for (; (newline = memchr(line, '\n', (size_t)(end - line))); line = newline + 1)
			if (is_function(line, (size_t)(newline - line)))
				fwrite(line, 1, (size_t)(newline + 1 - line), stdout);
		kept = (size_t)(end - line);
		if (kept == sizeof text)
			die("/proc/kallsyms: a line is too long");
		memmove(text, line, kept);
	}
	if (got < 0)
		die("/proc/kallsyms: %s", strerror(errno));
	close(fd);
	return 0;
}
