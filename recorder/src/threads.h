/* threads.h: what the sampler keeps of each recorded thread between snapshots, so that the next one costs less. */
#ifndef PERFCASE_THREADS_H
#define PERFCASE_THREADS_H

#include "util.h"

enum { OPEN_PER_THREAD = 8 };

/* A thread: files that stay open, and what tells whether it ran. */
struct kept {
	pid_t pid, tid;
	unsigned seen; /* the last snapshot that it was in */
	int stat_left_out, left_out; /* snapshots since its stat and its other files were copied */
	int fds[OPEN_PER_THREAD];
	char state, schedstat[80];
	struct kept *next;
	/* of a main thread: the threads of its process in the last snapshot */
	struct kept **family;
	size_t family_count, family_capacity;
};

struct kept_threads {
	struct kept **buckets;
	size_t bucket_count, count;
	long open_count, open_limit;
};

struct kept *kept_get(struct kept_threads *threads, pid_t pid, pid_t tid);
/* Reads a file of a thread, and keeps it open; `folder` is its process's task folder. 0, or the errno. */
int kept_read(struct kept_threads *threads, struct kept *thread, int slot, int folder, const char *file, struct buffer *out);
/* The thread is one of the process's in this snapshot. */
void kept_join(struct kept *main_thread, struct kept *thread);
/* Closes the files from this slot on. */
void kept_close(struct kept_threads *threads, struct kept *thread, int slot);
/* Takes every thread for one that has run. */
void kept_forget_runs(struct kept_threads *threads);
/* Forgets the threads that snapshot `seen` did not have. */
void kept_sweep(struct kept_threads *threads, unsigned seen);

#endif
