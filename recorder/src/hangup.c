/* hangup.c: a recorder that writes to standard output ends when nobody reads it any more: its ssh was broken off. */
#define _GNU_SOURCE
#include "util.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* hangup FD: waits until the other end of a pipe or socket is gone, then sends SIGHUP to its parent, as a terminal does; SIGTERM where
 * the recorder was started to ignore SIGHUP (nohup). */
int command_hangup(int argc, char **argv)
{
	struct pollfd end = { .fd = -1, .events = 0 };
	pid_t parent = getppid();
	struct sigaction given;

	if (argc != 2)
		die("usage: hangup FD");
	end.fd = atoi(argv[1]);
	die_with_parent();
	while (poll(&end, 1, -1) < 0 && errno == EINTR)
		;
	/* a file has no other end: it would never tell, or is not open */
	if (end.revents & (POLLERR | POLLHUP) && getppid() == parent)
		kill(parent, !sigaction(SIGHUP, NULL, &given) && given.sa_handler == SIG_IGN ? SIGTERM : SIGHUP);
	return 0;
}
