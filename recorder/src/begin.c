/* begin.c: commands that become another command: the recorded one as its user would have started it, and others. */
#define _GNU_SOURCE
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char ignored_name[] = "PERFCASE_IGNORED";
static const char recorder_name[] = "PERFCASE_RECORDER=";

static int become(char **command)
{
	execvp(command[0], command);
	warn("%s: %s", command[0], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}

/* The environment that a process was started with: a shell changes what is exported, by its user too. The process's own otherwise. */
static void take_environment(const char *pid)
{
	static struct buffer text; /* environ points into it */
	char path[64], **words;
	size_t count = 0, most = 1;

	if (read_file(format_path(path, sizeof path, "/proc/%s/environ", pid), &text, 64 << 20) || !text.length)
		return;
	for (size_t i = 0; i < text.length; i++)
		most += !text.data[i];
	words = checked_realloc(NULL, (most + 1) * sizeof *words);
	for (char *at = text.data; at < text.data + text.length; at += strlen(at) + 1)
		if (strncmp(at, ignored_name, strlen(ignored_name)) && strncmp(at, recorder_name, strlen(recorder_name)))
			words[count++] = at;
	words[count] = NULL;
	environ = words;
}

/* hold FIFO UMASK IGNORED SHELL COMMAND...: reads one byte from FIFO, then becomes the command, with that umask, the signals of the
 * mask IGNORED ignored, and the environment of the process SHELL. End of file: never mind. */
int command_hold(int argc, char **argv)
{
	static const int changed[] = { SIGINT, SIGTERM, SIGHUP }; /* by the shell */
	unsigned long long ignored;
	char go;
	int fd;

	if (argc < 6)
		die("usage: hold FIFO UMASK IGNORED SHELL COMMAND...");
	ignored = strtoull(argv[3], NULL, 16);
	for (size_t i = 0; i < sizeof changed / sizeof *changed; i++)
		signal(changed[i], ignored >> (changed[i] - 1) & 1 ? SIG_IGN : SIG_DFL);
	/* some shells ignore SIGQUIT themselves; who is to ignore Ctrl-C is to ignore this too */
	signal(SIGQUIT, ignored >> (SIGINT - 1) & 1 ? SIG_IGN : SIG_DFL);
	die_with_parent(); /* once it is gone nobody opens the other end */
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die("%s: %s", argv[1], strerror(errno));
	if (read(fd, &go, 1) != 1)
		return 125;
	prctl(PR_SET_PDEATHSIG, 0);
	close(fd);
	take_environment(argv[4]);
	umask((mode_t)strtoul(argv[2], NULL, 8) & 0777);
	return become(argv + 5);
}

/* heed IGNORED SHELL SCRIPT...: becomes the shell with that script, to which SIGINT is no longer ignored, and says what was. */
int command_heed(int argc, char **argv)
{
	if (argc < 4)
		die("usage: heed IGNORED SHELL SCRIPT...");
	signal(SIGINT, SIG_DFL);
	setenv(ignored_name, argv[1], 1);
	argv[1] = argv[2];
	argv[2] = "sh"; /* what busybox is to be */
	execv(argv[1], argv + 2);
	die("%s: %s", argv[1], strerror(errno));
}

/* inside FOLDER COMMAND...: becomes the command in that folder, in a process group of its own, which can be ended as one. */
int command_inside(int argc, char **argv)
{
	if (argc < 3)
		die("usage: inside FOLDER COMMAND...");
	setpgid(0, 0);
	if (chdir(argv[1]))
		die("%s: %s", argv[1], strerror(errno));
	return become(argv + 2);
}

/* tied COMMAND...: becomes the command, which gets SIGTERM when its parent is gone. */
int command_tied(int argc, char **argv)
{
	if (argc < 2)
		die("usage: tied COMMAND...");
	die_with_parent();
	return become(argv + 1);
}
