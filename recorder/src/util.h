/* util.h: what every subcommand of perfcase-helper shares. */
#ifndef PERFCASE_UTIL_H
#define PERFCASE_UTIL_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

/* A growing byte buffer, reused between reads. */
struct buffer {
	char *data;
	size_t length;
	size_t capacity;
};

/* Set by SIGINT, SIGTERM and SIGHUP once catch_stop_signals() was called. */
extern volatile sig_atomic_t stop_requested;

/* One moment on three clocks: the closest of several brackets. */
struct clocks {
	int64_t monotonic, realtime, boottime;
};

int64_t clock_ns(clockid_t clock);
struct clocks read_clocks(void);
void sleep_ns(int64_t ns); /* returns early on a signal */

void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

void *checked_realloc(void *pointer, size_t size);
char *checked_strdup(const char *text);
char *format_path(char *out, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

void buffer_add(struct buffer *buffer, const char *text);
void buffer_add_char(struct buffer *buffer, char byte);

/* Reads a whole file, at most `limit` bytes. 0, or the errno. */
int read_file(const char *path, struct buffer *out, size_t limit);
int read_file_at(int folder, const char *path, struct buffer *out, size_t limit);
/* Writes text to an existing file such as a control file of tracefs. 0, or the errno. */
int write_control(const char *path, const char *text);
int write_all(int fd, const void *data, size_t length);
/* Whether all that was printed is in the file: 0, or -1. A flush that succeeds says nothing of a write before it that failed. */
int flush_all(FILE *file);
/* All of `length` bytes at `offset`: 0, or -1. */
int read_at(int fd, void *data, size_t length, uint64_t offset);

/* Bytes of the files below a folder, those whose names begin with a dot left out. */
int64_t folder_bytes(const char *path);
/* How many bytes a folder of raw data may still grow by: the reserve stays free, and half of the raw data to pack them. 0: none. */
int64_t disk_room(const char *folder, int64_t raw_bytes, int64_t reserve_bytes);

void catch_stop_signals(void);
/* Until one of them came. */
void wait_for_stop(void);
/* Asks for SIGTERM when the parent dies, so that nothing outlives a killed recorder. */
void die_with_parent(void);

/* Parses decimal seconds ("0.5", "10m", "2h") into ns and sizes ("200M") into bytes; -1 if malformed. */
int64_t parse_seconds_ns(const char *text);
int64_t parse_size_bytes(const char *text);
int64_t parse_integer(const char *text);

/* Writes text on one line without what a terminal obeys: control characters, and bytes that are not UTF-8, become "?". */
void put_plain(FILE *out, const char *text);

/* Writes one JSON string; bytes that are not UTF-8 become U+FFFD. */
void json_string(FILE *out, const char *text);
/* Writes a line with a JSON array of strings, to the NULL that ends them. */
void json_array(FILE *out, char **texts);

/* The n-th field (1 is the pid) of /proc/PID/stat, counted after the command's last ')'. */
int proc_stat_field(const char *text, int field, long long *value);

#define COMMAND(name) int command_##name(int argc, char **argv)
COMMAND(announce);
COMMAND(begun);
COMMAND(clock);
COMMAND(clocks);
COMMAND(conditions);
COMMAND(count);
COMMAND(counting);
COMMAND(counts);
COMMAND(cut_perf);
COMMAND(details);
COMMAND(drain);
COMMAND(drop);
COMMAND(dump);
COMMAND(end);
COMMAND(events);
COMMAND(hangup);
COMMAND(heed);
COMMAND(hold);
COMMAND(host);
COMMAND(identity);
COMMAND(inside);
COMMAND(json);
COMMAND(kallsyms);
COMMAND(kmsg);
COMMAND(lock);
COMMAND(members);
COMMAND(number);
COMMAND(pack);
COMMAND(pause);
COMMAND(ping);
COMMAND(place);
COMMAND(plain);
COMMAND(ready);
COMMAND(room);
COMMAND(run);
COMMAND(sample);
COMMAND(self);
COMMAND(sizes);
COMMAND(sources);
COMMAND(squeeze);
COMMAND(stacks);
COMMAND(stamp);
COMMAND(stop);
COMMAND(sweep);
COMMAND(symbols);
COMMAND(targets);
COMMAND(tied);
COMMAND(token);
COMMAND(unpacked);
COMMAND(watch);
COMMAND(without);
#undef COMMAND

#endif
