/* threads.c: the threads that the sampler has seen. Opening a file below /proc costs more than reading it: the files that are
 * read in every snapshot stay open. They belong to one thread for good: when it ends they give ESRCH, even if another
 * gets its id. */
#define _GNU_SOURCE
#include "threads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* An open file of /proc holds a page of kernel memory: 64 MB at most. */
enum { MOST_OPEN = 16384, SPARE = 64, MOST_BYTES = 1 << 20 };

static size_t bucket(const struct kept_threads *threads, pid_t tid)
{
	return (size_t)tid & (threads->bucket_count - 1);
}

static void raise_limit(struct kept_threads *threads)
{
	struct rlimit limit;

	threads->open_limit = 0;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	if (limit.rlim_cur < MOST_OPEN + SPARE) {
		limit.rlim_cur = limit.rlim_max < MOST_OPEN + SPARE ? limit.rlim_max : MOST_OPEN + SPARE;
		setrlimit(RLIMIT_NOFILE, &limit);
		getrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_cur > SPARE)
		threads->open_limit = (long)(limit.rlim_cur - SPARE);
	if (threads->open_limit > MOST_OPEN)
		threads->open_limit = MOST_OPEN;
}

static void grow(struct kept_threads *threads)
{
	struct kept_threads larger = *threads;

	larger.bucket_count = threads->bucket_count ? threads->bucket_count * 4 : 1024;
	larger.buckets = checked_realloc(NULL, larger.bucket_count * sizeof *larger.buckets);
	memset(larger.buckets, 0, larger.bucket_count * sizeof *larger.buckets);
	for (size_t i = 0; i < threads->bucket_count; i++)
		for (struct kept *thread = threads->buckets[i], *next; thread; thread = next) {
			struct kept **head = &larger.buckets[bucket(&larger, thread->tid)];

			next = thread->next;
			thread->next = *head;
			*head = thread;
		}
	free(threads->buckets);
	*threads = larger;
}

struct kept *kept_get(struct kept_threads *threads, pid_t pid, pid_t tid)
{
	struct kept *thread, **head;

	if (!threads->bucket_count)
		raise_limit(threads);
	if (threads->count >= threads->bucket_count)
		grow(threads);
	head = &threads->buckets[bucket(threads, tid)];
	for (thread = *head; thread; thread = thread->next)
		if (thread->tid == tid && thread->pid == pid)
			return thread;
	thread = checked_realloc(NULL, sizeof *thread);
	memset(thread, 0, sizeof *thread);
	thread->pid = pid;
	thread->tid = tid;
	for (int i = 0; i < OPEN_PER_THREAD; i++)
		thread->fds[i] = -1;
	thread->next = *head;
	*head = thread;
	threads->count++;
	return thread;
}

void kept_join(struct kept *main_thread, struct kept *thread)
{
	if (main_thread->family_count == main_thread->family_capacity) {
		main_thread->family_capacity = main_thread->family_capacity ? main_thread->family_capacity * 2 : 8;
		main_thread->family = checked_realloc(main_thread->family,
						      main_thread->family_capacity * sizeof *main_thread->family);
	}
	main_thread->family[main_thread->family_count++] = thread;
}

void kept_close(struct kept_threads *threads, struct kept *thread, int slot)
{
	for (int i = slot; i < OPEN_PER_THREAD; i++)
		if (thread->fds[i] >= 0) {
			close(thread->fds[i]);
			thread->fds[i] = -1;
			threads->open_count--;
		}
}

static void forget(struct kept_threads *threads, struct kept *thread)
{
	kept_close(threads, thread, 0);
	thread->schedstat[0] = 0;
}

int kept_read(struct kept_threads *threads, struct kept *thread, int slot, int folder, const char *file, struct buffer *out)
{
	char path[64];

	out->length = 0;
	/* twice: the id may be another thread's by now */
	for (int attempt = 0; attempt < 2; attempt++) {
		int fd = thread->fds[slot], error = 0;
		ssize_t got;

		if (fd < 0 && (fd = openat(folder, format_path(path, sizeof path, "%d/%s", (int)thread->tid, file),
					   O_RDONLY | O_CLOEXEC)) < 0)
			return errno;
		/* these files come whole in one read, if there is room */
		do {
			if (out->capacity < 8192 || out->length == out->capacity - 1) {
				out->capacity = out->capacity < 8192 ? 8192 : out->capacity * 2;
				out->data = checked_realloc(out->data, out->capacity);
			}
			got = pread(fd, out->data, out->capacity - 1, 0);
			out->length = got < 0 ? 0 : (size_t)got;
		} while (out->length == out->capacity - 1 && out->capacity < MOST_BYTES);
		if (got < 0)
			error = errno;
		out->data[out->length] = 0;
		if (thread->fds[slot] < 0 && (error || threads->open_count >= threads->open_limit)) {
			close(fd);
			return error;
		}
		if (thread->fds[slot] < 0) {
			thread->fds[slot] = fd;
			threads->open_count++;
		}
		if (!error)
			return 0;
		forget(threads, thread);
	}
	return ESRCH;
}

void kept_forget_runs(struct kept_threads *threads)
{
	for (size_t i = 0; i < threads->bucket_count; i++)
		for (struct kept *thread = threads->buckets[i]; thread; thread = thread->next)
			thread->schedstat[0] = 0;
}

void kept_sweep(struct kept_threads *threads, unsigned seen)
{
	for (size_t i = 0; i < threads->bucket_count; i++)
		for (struct kept **link = &threads->buckets[i]; *link;) {
			struct kept *thread = *link;

			if (thread->seen == seen) {
				link = &thread->next;
				continue;
			}
			*link = thread->next;
			forget(threads, thread);
			free(thread->family);
			free(thread);
			threads->count--;
		}
}
