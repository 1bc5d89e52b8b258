// Two threads on two CPUs count, each in a counter of its own: both counters on one cache line, or on a line each.
// After every batch a thread writes a byte: a capture counts the batches as calls of write.
// usage: counters shared|padded SECONDS     prints how many batches each thread counted
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 2, BATCH = 1000000, LINE = 64 };

// Two lines a thread when padded: some CPUs fetch lines in pairs.
static _Alignas(2 * LINE) volatile unsigned long counters[THREADS * 2 * LINE / sizeof(unsigned long)];
static size_t distance;
static double seconds;
static unsigned long batches[THREADS];
static int done_fd;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void count(volatile unsigned long *counter)
{
	for (long i = 0; i < BATCH; i++)
		++*counter;
}

static void *worker(void *number)
{
	size_t n = (size_t)number;
	cpu_set_t cpu;
	CPU_ZERO(&cpu);
	CPU_SET(n, &cpu);
	pthread_setaffinity_np(pthread_self(), sizeof(cpu), &cpu);
	for (double end = now() + seconds; now() < end; batches[n]++) {
		count(counters + n * distance);
		if (write(done_fd, "", 1) != 1)
			break;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	if (argc != 3 || (seconds = atof(argv[2])) <= 0) {
		fprintf(stderr, "usage: counters shared|padded SECONDS\n");
		return 2;
	}
	distance = strcmp(argv[1], "padded") == 0 ? 2 * LINE / sizeof(unsigned long) : 1;
	done_fd = open("/dev/null", O_WRONLY);
	for (size_t n = 0; n < THREADS; n++)
		pthread_create(&threads[n], NULL, worker, (void *)n);
	for (size_t n = 0; n < THREADS; n++)
		pthread_join(threads[n], NULL);
	printf("%lu and %lu batches of %d\n", batches[0], batches[1], BATCH);
	return 0;
}
