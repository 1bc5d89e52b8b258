/* A database, alone or with a probe that watches it.
 * usage: database alone|probed SECONDS
 * Four workers take turns to answer a query each 16 ms, of about 3 ms of CPU time: 0.75 of two CPUs. The probe is three agents
 * that read what /proc tells of the database's memory every 3 ms, and take 3 ms of CPU time to put it into their format. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 4, AGENTS = 3, PERIOD_US = 16000, QUERY_US = 3000, SAMPLE_US = 3000, TABLE_BYTES = 16 << 20 };

static double end;
static unsigned char *table;
static int rows_per_ms;
static struct {
	int queries;
	double total, longest;
} done[WORKERS];

static double now(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static volatile uint64_t answer; /* so that the compiler keeps the work */

__attribute__((noinline)) static void work(int count)
{
	uint64_t sum = 0;
	for (int row = 0; row < count; row++)
		sum += table[sum % 4096] + 1;
	answer = sum;
}

/* The fastest of several tries: the others were disturbed. */
static void calibrate(void)
{
	enum { ROWS = 100000 };
	double least = 1;
	for (int i = 0; i < 20; i++) {
		double start = now(CLOCK_MONOTONIC);
		work(ROWS);
		double took = now(CLOCK_MONOTONIC) - start;
		least = took < least ? took : least;
	}
	rows_per_ms = (int)(ROWS / 1000.0 / least);
}

static void *worker(void *argument)
{
	int self = (int)(intptr_t)argument;
	prctl(PR_SET_NAME, "db-worker");
	for (double due = now(CLOCK_MONOTONIC) + self * PERIOD_US / 1e6 / WORKERS; due < end; due += PERIOD_US / 1e6) {
		struct timespec at = {(time_t)due, (long)((due - (double)(time_t)due) * 1e9)};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		work(QUERY_US / 1000 * rows_per_ms);
		double took = now(CLOCK_MONOTONIC) - due;
		done[self].queries++;
		done[self].total += took;
		done[self].longest = took > done[self].longest ? took : done[self].longest;
	}
	return NULL;
}

static int database(void)
{
	pthread_t threads[WORKERS];
	int queries = 0;
	double total = 0, longest = 0;
	prctl(PR_SET_NAME, "database");
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, worker, (void *)(intptr_t)i);
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(threads[i], NULL);
		queries += done[i].queries;
		total += done[i].total;
		longest = done[i].longest > longest ? done[i].longest : longest;
	}
	printf("%d queries, %.1f ms each, at most %.1f ms\n", queries, total / queries * 1e3, longest * 1e3);
	return 0;
}

static void agent(pid_t watched)
{
	char path[64], buffer[4096];
	struct timespec pause = {0, SAMPLE_US * 1000};
	prctl(PR_SET_NAME, "probe-agent");
	snprintf(path, sizeof path, "/proc/%d/smaps_rollup", watched);
	for (;;) {
		int fd = open(path, O_RDONLY);
		while (read(fd, buffer, sizeof buffer) > 0)
			;
		close(fd);
		work(SAMPLE_US / 1000 * rows_per_ms);
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	pid_t agents[AGENTS], watched;
	int is_probed = argc == 3 && !strcmp(argv[1], "probed");
	if (argc != 3)
		return fputs("usage: database alone|probed SECONDS\n", stderr), 2;
	end = now(CLOCK_MONOTONIC) + atof(argv[2]);
	table = malloc(TABLE_BYTES);
	memset(table, 1, TABLE_BYTES);
	calibrate();
	if (!(watched = fork()))
		return database();
	for (int i = 0; is_probed && i < AGENTS; i++)
		if (!(agents[i] = fork()))
			agent(watched);
	waitpid(watched, NULL, 0);
	for (int i = 0; is_probed && i < AGENTS; i++)
		kill(agents[i], SIGTERM);
	return 0;
}
