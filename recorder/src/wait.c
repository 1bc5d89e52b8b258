/* wait.c: everything the shell would have to poll for: readiness, the end of the recording, the end of children. */
#define _GNU_SOURCE
#include "conditions.h"
#include "squeeze.h"
#include "util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int64_t second_ns = 1000000000;

/* The letter that tells a process's state; 0 when it is gone. */
static int state_of(const char *pid)
{
	struct buffer text = { NULL, 0, 0 };
	char path[64];
	long long state = 0;

	if (read_file(format_path(path, sizeof path, "/proc/%s/stat", pid), &text, 4096) || !text.length ||
	    proc_stat_field(text.data, 3, &state))
		state = 0;
	free(text.data);
	return (int)state;
}

/* True while the process exists and is not a zombie. */
static int is_running(const char *pid)
{
	int state = state_of(pid);

	return state && state != 'Z' && state != 'X';
}

/* These three wait until a child records, print the moment, and say how that went: 1: the child ended; 2: too late. */
static int is_up(void)
{
	printf("%lld\n", (long long)clock_ns(CLOCK_MONOTONIC));
	return 0;
}

/* ping CTL ACK PID SECONDS: asks a perf that was started with --control=fifo:CTL,ACK until it answers.
 * perf answers from its main loop, which it enters when all events are enabled. */
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
			return is_up();
		if (!is_running(argv[3]))
			return 1;
	}
	return 2;
}

/* ready FILE TEXT PID SECONDS: until FILE holds TEXT. */
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
			return is_up();
		if (!running)
			return 1;
		sleep_ns(10000000);
	}
	return 2;
}

/* Whether a process has perf events open: what their descriptors are links to says so. */
static int has_perf_events(const char *pid)
{
	char path[4096], target[64];
	struct dirent *item;
	int found = 0;
	DIR *folder = opendir(format_path(path, sizeof path, "/proc/%s/fd", pid));

	while (folder && !found && (item = readdir(folder))) {
		ssize_t length = readlinkat(dirfd(folder), item->d_name, target, sizeof target - 1);

		target[length > 0 ? length : 0] = 0;
		found = strstr(target, "[perf_event]") != NULL;
	}
	if (folder)
		closedir(folder);
	return found;
}

/* counting PIDFILE PID SECONDS: until the process in PIDFILE, a perf stat without --control, counts: it sleeps until its interval ends
 * when it has opened all its events and enabled them. */
int command_counting(int argc, char **argv)
{
	struct buffer text = { NULL, 0, 0 };
	int64_t end;

	if (argc != 4)
		die("usage: counting PIDFILE PID SECONDS");
	end = clock_ns(CLOCK_MONOTONIC) + parse_seconds_ns(argv[3]);
	while (clock_ns(CLOCK_MONOTONIC) < end) {
		int running = is_running(argv[2]);

		if (!read_file(argv[1], &text, 64) && text.length) {
			text.data[strcspn(text.data, "\n")] = 0;
			if (has_perf_events(text.data) && state_of(text.data) == 'S')
				return is_up();
		}
		if (!running)
			return 1;
		sleep_ns(10000000);
	}
	return 2;
}

/* pause NS */
int command_pause(int argc, char **argv)
{
	if (argc != 2)
		die("usage: pause NS");
	catch_stop_signals();
	sleep_ns(parse_integer(argv[1]));
	return stop_requested ? 1 : 0;
}

/* A process that has executed a program has its own: where the kernel put things for it differs by chance. */
static int is_copy(const char *parent, const char *child)
{
	char path[64];
	struct buffer of_parent = { NULL, 0, 0 }, of_child = { NULL, 0, 0 };
	int same = !read_file(format_path(path, sizeof path, "/proc/%s/auxv", parent), &of_parent, 1 << 16) &&
		!read_file(format_path(path, sizeof path, "/proc/%s/auxv", child), &of_child, 1 << 16) && of_child.length &&
		of_parent.length == of_child.length && !memcmp(of_parent.data, of_child.data, of_child.length);

	free(of_parent.data);
	free(of_child.data);
	return same;
}

/* begun PARENT CHILD: waits until the child is no longer a copy of its parent, which would lose a signal; a second at most. */
int command_begun(int argc, char **argv)
{
	if (argc != 3)
		die("usage: begun PARENT CHILD");
	catch_stop_signals(); /* one for the whole group does not end this */
	for (int tries = 0; tries < 1000 && is_copy(argv[1], argv[2]); tries++)
		sleep_ns(1000000);
	return 0;
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

/* end SECONDS PID: SIGTERM, and SIGKILL if it is there after so long: exit 1. */
int command_end(int argc, char **argv)
{
	int64_t end;

	if (argc != 3)
		die("usage: end SECONDS PID");
	catch_stop_signals();
	end = clock_ns(CLOCK_MONOTONIC) + parse_seconds_ns(argv[1]);
	kill(atoi(argv[2]), SIGTERM);
	kill(atoi(argv[2]), SIGCONT);
	while (!stop_requested && clock_ns(CLOCK_MONOTONIC) < end && is_running(argv[2]))
		sleep_ns(5000000);
	if (!is_running(argv[2]))
		return 0;
	kill(atoi(argv[2]), SIGKILL);
	return 1;
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

/* What a flight ends at, and since when it has what it keeps: the moments at which its parts began. */
struct flight {
	int64_t keep_ns;
	struct conditions conditions;
	const char *begin_file;
	struct clocks begins[8];
	size_t count;
};

/* flight KEEP_NS REST_NS BEGIN_FILE CONDITION... */
static void flight_begin(struct flight *flight, int argc, char **argv)
{
	int64_t rest_ns;

	if (argc < 4)
		die("usage: flight KEEP_NS REST_NS BEGIN_FILE [CONDITION...]");
	flight->keep_ns = parse_integer(argv[1]);
	rest_ns = parse_integer(argv[2]);
	flight->begin_file = argv[3];
	for (int i = 4; i < argc; i++) {
		const char *trouble = conditions_add(&flight->conditions, argv[i]);

		if (trouble)
			warn("--when '%s': %s", argv[i], trouble); /* it was all right when the flights began */
	}
	conditions_begin(&flight->conditions, rest_ns ? clock_ns(CLOCK_MONOTONIC) + rest_ns : 0);
}

/* Remembers a moment each sixth of the time, forgets those that are not needed for one before all that is kept, and writes that down. */
static void flight_note_time(struct flight *flight, int64_t now_ns)
{
	const struct clocks *begin = flight->begins;
	FILE *file;

	if (!flight->keep_ns || (flight->count && now_ns - flight->begins[flight->count - 1].monotonic < flight->keep_ns / 6))
		return;
	while (flight->count > 1 && (flight->begins[1].monotonic <= now_ns - flight->keep_ns ||
				     flight->count == sizeof flight->begins / sizeof *flight->begins))
		memmove(flight->begins, flight->begins + 1, --flight->count * sizeof *flight->begins);
	flight->begins[flight->count++] = read_clocks();
	if ((file = fopen(flight->begin_file, "we"))) {
		fprintf(file, "%lld %lld %lld\n", (long long)begin->monotonic, (long long)begin->realtime, (long long)begin->boottime);
		fclose(file);
	}
}

/* Waits until one of the processes has ended, a signal or an answer came, or wait_ns passed. With a kernel older than 5.3 (no
 * pidfd_open) it looks every 50 ms. */
static void wait_for_processes(struct flight *flight, int count, char **pids, int64_t wait_ns)
{
	struct pollfd files[32] = { { -1, POLLIN, 0 } };
	int *first = &files[0].fd;
	struct timespec wait;
	size_t answers;

	/* one that still runs is enough to wait for: the others are looked at afterwards */
	for (int i = 0; i < count && *first < 0; i++)
		if (is_running(pids[i]))
			*first = (int)syscall(SYS_pidfd_open, atoi(pids[i]), 0);
	if (count && *first < 0 && (wait_ns > 50000000))
		wait_ns = 50000000;
	answers = conditions_await(&flight->conditions, files + 1, 31, clock_ns(CLOCK_MONOTONIC), &wait_ns);
	wait = (struct timespec){ wait_ns / second_ns, wait_ns % second_ns };
	ppoll(files, 1 + answers, &wait, &unblocked);
	if (*first >= 0)
		close(*first);
}

/* watch DIR DURATION_NS BUDGET_BYTES RESERVE_BYTES PROGRESS(0|1) [PID...] [next FILE | flight KEEP_NS REST_NS BEGIN_FILE [CONDITION...]]:
 * 0 means no limit. Prints why the recording ends: duration, budget, disk_space, target_exit (all PIDs gone), signal or trigger; and which
 * condition. With `next` it goes on after its duration, for as long again at most, until FILE is there: what comes next records. Writes since
 * when a flight has what it keeps into BEGIN_FILE, as `clocks` does. */
int command_watch(int argc, char **argv)
{
	int64_t start = clock_ns(CLOCK_MONOTONIC), duration_ns, budget_bytes, reserve_bytes, bytes, room_bytes, waiting_bytes, stored_bytes;
	struct flight flight = { .keep_ns = 0 };
	const char *why = NULL, *trigger = NULL, *next = NULL;
	int64_t next_look = 0;
	int progress, pids;

	if (argc < 6)
		die("usage: watch DIR DURATION_NS BUDGET_BYTES RESERVE_BYTES PROGRESS [PID...] [next FILE | flight KEEP_NS REST_NS BEGIN_FILE [CONDITION...]]");
	duration_ns = parse_integer(argv[2]);
	budget_bytes = parse_integer(argv[3]);
	reserve_bytes = parse_integer(argv[4]);
	progress = atoi(argv[5]);
	for (pids = 0; 6 + pids < argc && strcmp(argv[6 + pids], "flight") && strcmp(argv[6 + pids], "next"); pids++)
		;
	catch_stop_signals();
	block_stop_signals();
	die_with_parent();
	if (argc == 8 + pids && !strcmp(argv[6 + pids], "next"))
		next = argv[7 + pids];
	else if (6 + pids < argc)
		flight_begin(&flight, argc - 6 - pids, argv + 6 + pids);
	while (!why) {
		int64_t now = clock_ns(CLOCK_MONOTONIC), elapsed = now - start;
		/* the sizes are looked at once a second, five times where a limit or a reader waits for them */
		int64_t wait = budget_bytes || (progress && !flight.keep_ns) ? second_ns / 5 : second_ns;

		flight_note_time(&flight, now);
		trigger = conditions_answer(&flight.conditions, now);
		if (now >= next_look) {
			const char *met = conditions_look(&flight.conditions, now);

			trigger = trigger ? trigger : met;
			next_look = now + second_ns - second_ns / 100;
		}
		squeeze_totals(argv[1], &waiting_bytes, &stored_bytes);
		bytes = folder_bytes(argv[1]) + waiting_bytes;
		/* the archive takes as much again of what is compressed, and half of the rest */
		room_bytes = disk_room(argv[1], bytes + stored_bytes, reserve_bytes);
		/* a small disk is full within a second; a flight's data do not grow */
		if (room_bytes < 512 << 20 && !flight.keep_ns)
			wait = second_ns / 20;
		if (progress)
			show_progress(elapsed, duration_ns, bytes);
		if (stop_requested)
			why = "signal";
		else if (!room_bytes)
			why = "disk_space";
		else if (duration_ns && elapsed >= duration_ns && (!next || elapsed >= 2 * duration_ns || !access(next, F_OK)))
			why = "duration";
		else if (budget_bytes && bytes >= budget_bytes)
			why = "budget";
		else if (pids && !any_running(pids, argv + 6))
			why = "target_exit";
		else if (trigger)
			why = "trigger";
		if (why)
			break;
		if (duration_ns && duration_ns - elapsed < wait)
			wait = duration_ns > elapsed ? duration_ns - elapsed : second_ns / 20;
		wait_for_processes(&flight, pids, argv + 6, wait);
	}
	if (progress)
		fputs("\r\033[K", stderr);
	puts(why);
	if (trigger)
		puts(trigger);
	return 0;
}
