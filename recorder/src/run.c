/* run.c: runs a source as a child and saves what it cost; and the cost of a running process. */
#define _GNU_SOURCE
#include "instance.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* read_bytes and write_bytes of /proc/PID/io: what reached storage. Left as they are where unreadable. */
static void read_io(pid_t pid, long long *read_bytes, long long *write_bytes)
{
	struct buffer text = { NULL, 0, 0 };
	char path[64];
	const char *at;

	if (!read_file(format_path(path, sizeof path, "/proc/%d/io", (int)pid), &text, 4096) && text.data) {
		if ((at = strstr(text.data, "\nread_bytes:")))
			*read_bytes = atoll(at + 12);
		if ((at = strstr(text.data, "\nwrite_bytes:")))
			*write_bytes = atoll(at + 13);
	}
	free(text.data);
}

static long long timeval_ns(struct timeval time)
{
	return (long long)time.tv_sec * 1000000000 + (long long)time.tv_usec * 1000;
}

static void print_or_null(FILE *out, const char *name, long long value)
{
	if (value < 0)
		fprintf(out, "%s=null\n", name);
	else
		fprintf(out, "%s=%lld\n", name, value);
}

/* Resets what the shell did to a background child (SIGINT ignored), then becomes the command. */
static void become(char **command, const char *log, pid_t runner)
{
	struct sigaction standard = { .sa_handler = SIG_DFL };
	sigset_t none;
	int fd;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	sigaction(SIGINT, &standard, NULL);
	sigaction(SIGQUIT, &standard, NULL);
	sigaction(SIGTERM, &standard, NULL);
	sigaction(SIGHUP, &standard, NULL);
	prctl(PR_SET_PDEATHSIG, SIGINT);
	if (getppid() != runner)
		_exit(128 + SIGINT);
	setpgid(0, 0);
	if ((fd = open("/dev/null", O_RDONLY)) >= 0) {
		dup2(fd, 0);
		close(fd);
	}
	if ((fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600)) >= 0) {
		dup2(fd, 1);
		dup2(fd, 2);
		close(fd);
	}
	execvp(command[0], command);
	warn("%s: %s", command[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* Blocks the signals that `run` waits for. */
static void block_signals(sigset_t *signals)
{
	struct sigaction standard = { .sa_handler = SIG_DFL };

	sigemptyset(signals);
	sigaddset(signals, SIGCHLD);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGHUP);
	sigprocmask(SIG_BLOCK, signals, NULL);
	/* an ignored signal does not even become pending: the shell ignores SIGINT in background children */
	sigaction(SIGINT, &standard, NULL);
	sigaction(SIGHUP, &standard, NULL);
	sigaction(SIGCHLD, &standard, NULL);
}

/* A disk that refuses it must not keep the instance from being removed. */
static void save_cost(const char *path, const char *name, pid_t pid, int status, const struct rusage *cost,
		      long long read_bytes, long long write_bytes, int64_t ended_ns)
{
	FILE *out = fopen(path, "we");

	if (!out) {
		warn("%s: %s", path, strerror(errno));
		return;
	}
	fprintf(out, "process=%s\npid=%d\nuser_ns=%lld\nsystem_ns=%lld\nmax_rss_bytes=%lld\n", name, (int)pid,
		timeval_ns(cost->ru_utime), timeval_ns(cost->ru_stime), (long long)cost->ru_maxrss * 1024);
	print_or_null(out, "read_bytes", read_bytes);
	print_or_null(out, "write_bytes", write_bytes);
	fprintf(out, "ended_ns=%lld\n", (long long)ended_ns);
	fprintf(out, "exit_status=%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	if (fclose(out))
		warn("%s: %s", path, strerror(errno));
}

/* run NAME COSTFILE LOGFILE PIDFILE INSTANCE COMMAND...: prints the command as JSON.
 * The child gets SIGINT for the first signal (perf and trace-cmd finish their files then), SIGKILL for the third. What it
 * started and left behind is killed. INSTANCE, if not empty, is an ftrace instance that is there for the child, and no longer. */
int command_run(int argc, char **argv)
{
	long long read_bytes = -1, write_bytes = -1;
	struct rusage cost;
	siginfo_t info;
	int status = 0, forwarded = 0;
	sigset_t signals;
	int64_t ended_ns;
	FILE *pidfile;
	pid_t runner = getpid(), child;

	if (argc < 7)
		die("usage: run NAME COSTFILE LOGFILE PIDFILE INSTANCE COMMAND...");
	json_array(stdout, argv + 6);
	if (fflush(stdout))
		warn("the command is not in the manifest: %s", strerror(errno));
	block_signals(&signals);
	die_with_parent();
	setpgid(0, 0); /* a Ctrl-C reaches the recorder only, which stops its sources in order */
	if (*argv[5])
		instance_make(argv[5]); /* locked until this process ends */
	child = fork();
	if (child < 0)
		die("fork: %s", strerror(errno));
	if (!child)
		become(argv + 6, argv[3], runner);
	setpgid(child, child); /* here too, as either process may be the first */
	if ((pidfile = fopen(argv[4], "we"))) {
		fprintf(pidfile, "%d\n", (int)child);
		fclose(pidfile);
	}
	for (;;) {
		memset(&info, 0, sizeof info);
		if (!waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT | WNOHANG) && info.si_pid == child)
			break;
		/* the signals are blocked but here: none is lost, and nothing wakes up in between */
		if (sigwaitinfo(&signals, NULL) != SIGCHLD && forwarded < 3)
			kill(child, ++forwarded == 3 ? SIGKILL : SIGINT);
	}
	ended_ns = clock_ns(CLOCK_MONOTONIC);
	/* before it is reaped: what /proc says of it, and the group that has its name */
	read_io(child, &read_bytes, &write_bytes);
	kill(-child, SIGKILL);
	if (wait4(child, &status, 0, &cost) != child)
		die("wait4: %s", strerror(errno));
	save_cost(argv[2], argv[1], child, status, &cost, read_bytes, write_bytes, ended_ns);
	if (*argv[5])
		instance_remove(argv[5]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* self PID: own and reaped children's CPU time, memory and I/O. /proc/PID/stat has whole ticks of 10 ms: half of one is added, as
 * it leaves out as much in the mean. */
int command_self(int argc, char **argv)
{
	static const char *const names[] = { "user_ns", "system_ns", "children_user_ns", "children_system_ns" };
	long long read_bytes = -1, write_bytes = -1, value, ticks = sysconf(_SC_CLK_TCK);
	struct buffer text = { NULL, 0, 0 };
	char path[64];
	const char *peak;

	if (argc != 2)
		die("usage: self PID");
	if (read_file(format_path(path, sizeof path, "/proc/%s/stat", argv[1]), &text, 4096))
		die("%s: no such process", argv[1]);
	for (int i = 0; i < 4; i++)
		/* a number that no clock reaches is no time */
		if (!proc_stat_field(text.data, 14 + i, &value) && !__builtin_mul_overflow(value, 1000000000 / ticks, &value) &&
		    !__builtin_add_overflow(value, 500000000 / ticks, &value))
			printf("%s=%lld\n", names[i], value);
	if (!read_file(format_path(path, sizeof path, "/proc/%s/status", argv[1]), &text, 1 << 16) &&
	    (peak = strstr(text.data, "\nVmHWM:")) && !__builtin_mul_overflow(atoll(peak + 7), 1024, &value))
		printf("max_rss_bytes=%lld\n", value);
	read_io(atoi(argv[1]), &read_bytes, &write_bytes);
	print_or_null(stdout, "read_bytes", read_bytes);
	print_or_null(stdout, "write_bytes", write_bytes);
	return 0;
}
