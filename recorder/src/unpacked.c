/* unpacked.c: takes away what the recorder in one file unpacked, however the recorder ended. */
#define _GNU_SOURCE
#include "util.h"

#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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

/* unpacked FOLDER PID: removes FOLDER once PID, which started it, has ended, also by SIGKILL. No other signal ends it. */
int command_unpacked(int argc, char **argv)
{
	char *folder;
	sigset_t signals;
	pid_t parent;
	int got;

	if (argc != 3)
		die("usage: unpacked FOLDER PID");
	folder = realpath(argv[1], NULL);
	if (!folder || !holds_us(folder))
		die("%s: not the folder of this perfcase-helper", argv[1]);
	sigfillset(&signals);
	sigprocmask(SIG_SETMASK, &signals, NULL);
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	prctl(PR_SET_PDEATHSIG, SIGUSR1);
	parent = (pid_t)parse_integer(argv[2]);
	while (getppid() == parent)
		sigwait(&signals, &got);
	/* no link is followed, and no other file system entered */
	return nftw(folder, take, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0;
}
