/* main.c: perfcase-helper, the one compiled part of the recorder: dispatch and the small subcommands. */
#define _GNU_SOURCE
#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <unistd.h>

#ifndef PERFCASE_VERSION
#define PERFCASE_VERSION "unknown"
#endif

/* Prints whether the kernel was told that the wall clock is right, as `name = value`; it changes nothing. */
int command_clock(int argc, char **argv)
{
	struct timex now = { .modes = 0 };
	int state = adjtimex(&now);

	(void)argc, (void)argv;
	if (state < 0)
		die("adjtimex: %s", strerror(errno));
	printf("is_synchronized = %s\n", state == TIME_ERROR || now.status & STA_UNSYNC ? "no" : "yes");
	return 0;
}

/* Prints monotonic, realtime and boottime ns of one moment. */
int command_clocks(int argc, char **argv)
{
	struct clocks now = read_clocks();

	(void)argc, (void)argv;
	printf("%lld %lld %lld\n", (long long)now.monotonic, (long long)now.realtime, (long long)now.boottime);
	return 0;
}

/* json string TEXT | json array TEXT... */
int command_json(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "array")) {
		json_array(stdout, argv + 2);
		return 0;
	}
	if (argc != 3 || strcmp(argv[1], "string"))
		die("usage: json string TEXT | json array TEXT...");
	json_string(stdout, argv[2]);
	putchar('\n');
	return 0;
}

/* plain TEXT */
int command_plain(int argc, char **argv)
{
	if (argc != 2)
		die("usage: plain TEXT");
	put_plain(stdout, argv[1]);
	return 0;
}

/* number seconds TEXT -> ns; number size TEXT -> bytes; number integer TEXT. Exit 1 if malformed. */
int command_number(int argc, char **argv)
{
	int64_t value = -1;

	if (argc != 3)
		die("usage: number seconds|size|integer TEXT");
	if (!strcmp(argv[1], "seconds"))
		value = parse_seconds_ns(argv[2]);
	else if (!strcmp(argv[1], "size"))
		value = parse_size_bytes(argv[2]);
	else
		value = parse_integer(argv[2]);
	if (value < 0)
		return 1;
	printf("%lld\n", (long long)value);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(int, char **);
	const char *what;
} commands[] = {
	{ "announce", command_announce, "write down a flight for those who look for it" },
	{ "begun", command_begun, "wait until a child of the shell is a program of its own" },
	{ "clock", command_clock, "print whether the wall clock is synchronized" },
	{ "clocks", command_clocks, "print CLOCK_MONOTONIC, REALTIME and BOOTTIME ns of one moment" },
	{ "conditions", command_conditions, "say whether conditions of a flight can be looked at" },
	{ "count", command_count, "count samples and lost events of a perf.data" },
	{ "counting", command_counting, "wait until a perf without --control counts" },
	{ "counts", command_counts, "count events at an interval without perf" },
	{ "cut-perf", command_cut_perf, "keep the last part of a perf.data" },
	{ "details", command_details, "copy what is slow to read of processes: arguments, files, sockets, memory" },
	{ "drain", command_drain, "run a private ftrace instance and save its raw ring-buffer pages" },
	{ "drop", command_drop, "remove a file if it is still the one that was made" },
	{ "dump", command_dump, "have a running flight write its capture" },
	{ "end", command_end, "end a process: SIGTERM, and SIGKILL when that does not help" },
	{ "events", command_events, "record perf events without perf, or keep the last of them in memory" },
	{ "hangup", command_hangup, "tell the recorder when nobody reads its standard output any more" },
	{ "heed", command_heed, "begin a shell script with SIGINT no longer ignored" },
	{ "hold", command_hold, "wait for a go, then become the recorded command" },
	{ "host", command_host, "print the manifest's description of the host" },
	{ "identity", command_identity, "print which file a file is" },
	{ "inside", command_inside, "run a command in a folder and in a process group of its own" },
	{ "json", command_json, "print arguments as JSON" },
	{ "kallsyms", command_kallsyms, "print the kernel's functions" },
	{ "kmsg", command_kmsg, "print the kernel's log" },
	{ "lock", command_lock, "lock an open file of the shell" },
	{ "members", command_members, "print the manifest's member list" },
	{ "number", command_number, "parse a number of seconds, a size or an integer" },
	{ "pack", command_pack, "write a folder as a .perfcase (ustar)" },
	{ "pause", command_pause, "wait for a time, or for a signal" },
	{ "ping", command_ping, "wait until a perf started with --control answers" },
	{ "place", command_place, "give a finished file its name, never another's" },
	{ "plain", command_plain, "print a text without what a terminal obeys" },
	{ "ready", command_ready, "wait until a file holds a text" },
	{ "room", command_room, "print how much a folder may grow on its disk" },
	{ "run", command_run, "run a child and save what it cost" },
	{ "sample", command_sample, "copy /proc and /sys files at an interval" },
	{ "self", command_self, "print what a running process has cost so far" },
	{ "sizes", command_sizes, "print path and size of every file of a folder" },
	{ "sources", command_sources, "print the manifest's list of sources" },
	{ "squeeze", command_squeeze, "compress the large raw files while they are recorded" },
	{ "stacks", command_stacks, "record callchains of switches and wakeups, so many a second of each place" },
	{ "stamp", command_stamp, "copy perf stat intervals and find the moment of their time 0" },
	{ "stop", command_stop, "interrupt processes and wait for their end" },
	{ "sweep", command_sweep, "remove ftrace instances of recorders that were killed" },
	{ "symbols", command_symbols, "bundle what names the addresses of a perf.data" },
	{ "targets", command_targets, "print processes and all their descendants" },
	{ "tied", command_tied, "run a command that is told to end when its parent is gone" },
	{ "token", command_token, "run curl or wget with a token that no other process sees" },
	{ "unpacked", command_unpacked, "remove a folder once the process that unpacked it has ended" },
	{ "watch", command_watch, "wait for the end of the recording: time, size or target" },
	{ "without", command_without, "run a command to which one file is empty" },
};

int main(int argc, char **argv)
{
	if (argc > 1)
		for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
			if (!strcmp(argv[1], commands[i].name)) {
				int status = commands[i].run(argc - 1, argv + 1);

				if (flush_all(stdout)) {
					warn("what %s prints cannot be written: %s", argv[1], strerror(errno));
					return 1;
				}
				return status;
			}
	if (argc == 2 && !strcmp(argv[1], "--version")) {
		puts(PERFCASE_VERSION);
		return 0;
	}
	fputs("usage: perfcase-helper COMMAND ...   (used by perfcase-record)\n", stderr);
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		fprintf(stderr, "  %-9s %s\n", commands[i].name, commands[i].what);
	return 2;
}
