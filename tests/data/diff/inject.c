// A service of a few threads with one thing at a time made worse: inject THREADS lock|free sync|async [SECONDS]
//
// Every thread, every 5 ms for a second or so many: 50 µs of work and a pause of 1 ms (both under one mutex with "lock"), a write of 4 KiB
// (waiting for the disk with "sync"), a pause of 4 ms.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int locked, fd, seconds = 1;

static long now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void *serve(void *unused)
{
	char page[4096] = {0};
	struct timespec inner = {0, 1000000}, outer = {0, 4000000};

	(void)unused;
	for (long end = now_us() + 1000000L * seconds; now_us() < end;) {
		if (locked)
			pthread_mutex_lock(&mutex);
		for (long until = now_us() + 50; now_us() < until;)
			;
		nanosleep(&inner, NULL);
		if (locked)
			pthread_mutex_unlock(&mutex);
		if (pwrite(fd, page, sizeof(page), 0) < 0)
			exit(1);
		nanosleep(&outer, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	int count = argc > 3 ? atoi(argv[1]) : 0;

	if (count < 1 || count > 64)
		return 2;
	if (argc > 4)
		seconds = atoi(argv[4]);
	locked = !strcmp(argv[2], "lock");
	fd = open("inject.tmp", O_CREAT | O_WRONLY | (strcmp(argv[3], "sync") ? 0 : O_DSYNC), 0600);
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, serve, NULL);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
