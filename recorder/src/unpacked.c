/* unpacked.c: takes away what the recorder in one file unpacked, however the recorder ended. */
#define _GNU_SOURCE
#include "util.h"

#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int take(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status, (void)type, (void)place;
	remove(path); /* what cannot be removed must not keep the rest */
	return 0;
}

/* Whether this program lies in the folder: no other is ever removed. */
static int holds_us(const char *folder)
{
	char *ours = realpath("/proc/self/exe", NULL);
	size_t length = strlen(folder);

	return ours && !strncmp(ours, folder, length) && ours[length] == '/';
}

/* Returns when a process has ended. */
static void await_end(pid_t pid)
{
	struct pollfd ended = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	struct timespec pause = { .tv_nsec = 100000000 };

	if (ended.fd >= 0)
		while (poll(&ended, 1, -1) != 1)
			;
	else /* before Linux 5.3 */
		while (!kill(pid, 0))
			nanosleep(&pause, NULL);
}

/* unpacked FOLDER PID: removes FOLDER once PID has ended, also by SIGKILL. It waits in the background, and not as a child of the shell
 * that PID is: a shell may wait for any child. No signal ends it, from before this returns. */
int command_unpacked(int argc, char **argv)
{
	sigset_t signals;
	char *folder;
	pid_t pid, waiting;

	if (argc != 3 || (pid = (pid_t)parse_integer(argv[2])) <= 0)
		die("usage: unpacked FOLDER PID");
	folder = realpath(argv[1], NULL);
	if (!folder || !holds_us(folder))
		die("%s: not the folder of this perfcase-helper", argv[1]);
	sigfillset(&signals);
	sigprocmask(SIG_SETMASK, &signals, NULL);
	waiting = fork();
	if (waiting < 0)
		die("cannot fork: %s", strerror(errno));
	if (waiting) {
		setpgid(waiting, 0); /* SIGKILL for all of the recorder's group is not for it */
		return 0;
	}
	await_end(pid);
	/* no link is followed, and no other file system entered */
	return nftw(folder, take, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0;
}
