/* wait.c: everything the shell would have to poll for: readiness, the end of the recording, the end of children. */
#define _GNU_SOURCE
#include "util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int64_t second_ns = 1000000000;

/* True while the process exists and is not a zombie. */
static int is_running(const char *pid)
{
	struct buffer text = { NULL, 0, 0 };
	char path[64];
	long long state = 0;
	int running = 0;

	if (!read_file(format_path(path, sizeof path, "/proc/%s/stat", pid), &text, 4096) && text.length)
		running = !proc_stat_field(text.data, 3, &state) && state != 'Z' && state != 'X';
	free(text.data);
	return running;
}

/* hold FIFO COMMAND...: reads one byte from FIFO, then becomes the command. End of file: never mind. */
int command_hold(int argc, char **argv)
{
	struct sigaction standard = { .sa_handler = SIG_DFL };
	char go;
	int fd;

	if (argc < 3)
		die("usage: hold FIFO COMMAND...");
	/* the shell starts background children with SIGINT ignored */
	sigaction(SIGINT, &standard, NULL);
	sigaction(SIGQUIT, &standard, NULL);
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die("%s: %s", argv[1], strerror(errno));
	if (read(fd, &go, 1) != 1)
		return 125;
	close(fd);
	execvp(argv[2], argv + 2);
	warn("%s: %s", argv[2], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}

/* ping CTL ACK PID SECONDS: asks a perf that was started with --control=fifo:CTL,ACK until it answers.
 * perf answers from its main loop, which it enters when all events are enabled. Exit 1: it ended; 2: too late. */
int command_ping(int argc, char **argv)
{
	int64_t end;
	int control, answer;

	if (argc != 5)
		die("usage: ping CTL ACK PID SECONDS");
	control = open(argv[1], O_RDWR | O_NONBLOCK | O_CLOEXEC);
	answer = open(argv[2], O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (control < 0 || answer < 0 || write_all(control, "ping\n", 5))
		die("%s: %s", argv[1], strerror(errno));
	end = clock_ns(CLOCK_MONOTONIC) + parse_seconds_ns(argv[4]);
	while (clock_ns(CLOCK_MONOTONIC) < end) {
		struct pollfd wait = { answer, POLLIN, 0 };

		if (poll(&wait, 1, 20) > 0)
			return 0;
		if (!is_running(argv[3]))
			return 1;
	}
	return 2;
}

/* ready FILE TEXT PID SECONDS: until FILE holds TEXT. Exit 1: the process ended; 2: too late. */
int command_ready(int argc, char **argv)
{
	struct buffer text = { NULL, 0, 0 };
	int64_t end;

	if (argc != 5)
		die("usage: ready FILE TEXT PID SECONDS");
	end = clock_ns(CLOCK_MONOTONIC) + parse_seconds_ns(argv[4]);
	while (clock_ns(CLOCK_MONOTONIC) < end) {
		int running = is_running(argv[3]);

		if (!read_file(argv[1], &text, 1 << 16) && (!*argv[2] || (text.length && strstr(text.data, argv[2]))))
			return 0;
		if (!running)
			return 1;
		sleep_ns(10000000);
	}
	return 2;
}

static int any_running(int count, char **pids)
{
	for (int i = 0; i < count; i++)
		if (is_running(pids[i]))
			return 1;
	return 0;
}

/* stop SECONDS PID...: SIGINT, and once more and SIGKILL (through `run`) for those that do not end in time. */
int command_stop(int argc, char **argv)
{
	int status = 0;

	if (argc < 2)
		die("usage: stop SECONDS PID...");
	for (int round = 0; round < 3; round++) {
		int64_t wait = round ? second_ns : parse_seconds_ns(argv[1]);
		int64_t end = clock_ns(CLOCK_MONOTONIC) + wait;

		for (int i = 2; i < argc; i++)
			if (is_running(argv[i])) {
				if (round)
					warn("process %s did not end in time", argv[i]);
				status = round > 0;
				kill(atoi(argv[i]), SIGINT);
			}
		while (clock_ns(CLOCK_MONOTONIC) < end && any_running(argc - 2, argv + 2))
			sleep_ns(5000000);
	}
	for (int i = 2; i < argc; i++)
		if (is_running(argv[i]))
			kill(atoi(argv[i]), SIGKILL);
	return status;
}

static int64_t folder_bytes(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *item;
	int64_t total = 0;

	if (!dir)
		return 0;
	while ((item = readdir(dir))) {
		struct stat info;
		char child[4096];

		if (item->d_name[0] == '.' || fstatat(dirfd(dir), item->d_name, &info, AT_SYMLINK_NOFOLLOW))
			continue;
		if (S_ISDIR(info.st_mode))
			total += folder_bytes(format_path(child, sizeof child, "%s/%s", path, item->d_name));
		else if (S_ISREG(info.st_mode))
			total += info.st_size;
	}
	closedir(dir);
	return total;
}

static sigset_t unblocked;

/* Stop signals arrive in ppoll only: none is lost between looking and waiting. */
static void block_stop_signals(void)
{
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGHUP);
	sigprocmask(SIG_BLOCK, &stop, &unblocked);
	sigdelset(&unblocked, SIGINT);
	sigdelset(&unblocked, SIGTERM);
	sigdelset(&unblocked, SIGHUP);
}

static void show_progress(int64_t elapsed_ns, int64_t duration_ns, int64_t bytes)
{
	fprintf(stderr, "\rrecording: %lld", (long long)(elapsed_ns / second_ns));
	if (duration_ns)
		fprintf(stderr, " of %lld", (long long)(duration_ns / second_ns));
	fprintf(stderr, " s, %.1f MB \033[K", (double)bytes / 1e6);
}

/* Waits until one of the processes has ended, a signal came or wait_ns passed. With a kernel older than 5.3 (no
 * pidfd_open) it looks every 50 ms. */
static void wait_for_processes(int count, char **pids, int64_t wait_ns)
{
	struct pollfd first = { -1, POLLIN, 0 };
	struct timespec wait;

	/* one that still runs is enough to wait for: the others are looked at afterwards */
	for (int i = 0; i < count && first.fd < 0; i++)
		if (is_running(pids[i]))
			first.fd = (int)syscall(SYS_pidfd_open, atoi(pids[i]), 0);
	if (count && first.fd < 0 && (wait_ns > 50000000))
		wait_ns = 50000000;
	wait = (struct timespec){ wait_ns / second_ns, wait_ns % second_ns };
	ppoll(&first, first.fd >= 0, &wait, &unblocked);
	if (first.fd >= 0)
		close(first.fd);
}

/* The recorder must not fill the host's disk. It needs room to pack: half of the raw data, as they compress well. */
static int is_disk_full(const char *folder, int64_t raw_bytes)
{
	const int64_t reserve_bytes = 32 << 20;
	struct statvfs disk;

	if (statvfs(folder, &disk))
		return 0;
	return (int64_t)disk.f_bavail * (int64_t)disk.f_frsize < reserve_bytes + raw_bytes / 2;
}

/* watch DIR DURATION_NS BUDGET_BYTES PROGRESS(0|1) [PID...]: 0 means no limit.
 * Prints why the recording ends: duration, budget, disk_space, target_exit (all PIDs gone) or signal. */
int command_watch(int argc, char **argv)
{
	int64_t start = clock_ns(CLOCK_MONOTONIC), duration_ns, budget_bytes, bytes;
	const char *why = NULL;
	int progress;

	if (argc < 5)
		die("usage: watch DIR DURATION_NS BUDGET_BYTES PROGRESS [PID...]");
	duration_ns = parse_integer(argv[2]);
	budget_bytes = parse_integer(argv[3]);
	progress = atoi(argv[4]);
	catch_stop_signals();
	block_stop_signals();
	die_with_parent();
	while (!why) {
		int64_t elapsed = clock_ns(CLOCK_MONOTONIC) - start;
		/* the sizes are looked at once a second, five times where a limit or a reader waits for them */
		int64_t wait = budget_bytes || progress ? second_ns / 5 : second_ns;

		bytes = folder_bytes(argv[1]);
		if (progress)
			show_progress(elapsed, duration_ns, bytes);
		if (stop_requested)
			why = "signal";
		else if (is_disk_full(argv[1], bytes))
			why = "disk_space";
		else if (duration_ns && elapsed >= duration_ns)
			why = "duration";
		else if (budget_bytes && bytes >= budget_bytes)
			why = "budget";
		else if (argc > 5 && !any_running(argc - 5, argv + 5))
			why = "target_exit";
		if (why)
			break;
		if (duration_ns && duration_ns - elapsed < wait)
			wait = duration_ns - elapsed;
		wait_for_processes(argc - 5, argv + 5, wait);
	}
	if (progress)
		fputs("\r\033[K", stderr);
	puts(why);
	return 0;
}
