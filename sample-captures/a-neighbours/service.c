// A service of two workers, each with a client that asks, waits for the answer, thinks for 4 ms and asks again; or a neighbour.
// Each request is the same work: a checksum of 16 KiB, over and over.
// usage: service              until SIGTERM; then prints how many requests were answered, and how long they took
//        service neighbour    computes until it is killed
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { PAIRS = 2, ROUNDS = 40, WORDS = 4096, REQUESTS_MAX = 100000 };

static uint32_t data[WORDS];
static double took_ms[PAIRS][REQUESTS_MAX];
static int questions[PAIRS][2], answers[PAIRS][2], answered[PAIRS];
static volatile sig_atomic_t is_over;

static void end(int signal)
{
	(void)signal;
	is_over = 1;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

__attribute__((noinline)) static uint32_t checksum(uint32_t sum)
{
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < WORDS; i++)
			sum = sum * 31 + data[i];
	return sum;
}

static void *worker(void *number)
{
	size_t pair = (size_t)number;
	uint32_t request;
	prctl(PR_SET_NAME, "worker");
	while (read(questions[pair][0], &request, sizeof(request)) == sizeof(request)) {
		request = checksum(request);
		if (write(answers[pair][1], &request, sizeof(request)) != sizeof(request))
			break;
	}
	return NULL;
}

static void *client(void *number)
{
	size_t pair = (size_t)number;
	struct timespec think = {0, 4000000};
	uint32_t request = 1;
	prctl(PR_SET_NAME, "client");
	for (; !is_over && answered[pair] < REQUESTS_MAX; nanosleep(&think, NULL)) {
		double began = now();
		if (write(questions[pair][1], &request, sizeof(request)) != sizeof(request) ||
		    read(answers[pair][0], &request, sizeof(request)) != sizeof(request))
			break;
		took_ms[pair][answered[pair]++] = 1e3 * (now() - began);
	}
	return NULL;
}

static int ascending(const void *a, const void *b)
{
	return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b);
}

int main(int argc, char **argv)
{
	pthread_t workers[PAIRS], clients[PAIRS];
	if (argc == 2 && strcmp(argv[1], "neighbour") == 0) {
		prctl(PR_SET_NAME, "neighbour");
		for (uint32_t sum = 0;;)
			data[0] ^= sum = checksum(sum);
	}
	if (argc != 1) {
		fprintf(stderr, "usage: service | service neighbour\n");
		return 2;
	}
	sigaction(SIGTERM, &(struct sigaction){.sa_handler = end, .sa_flags = SA_RESTART}, NULL);
	for (size_t i = 0; i < PAIRS; i++) {
		if (pipe(questions[i]) || pipe(answers[i])) {
			perror("pipe");
			return 1;
		}
		pthread_create(&workers[i], NULL, worker, (void *)i);
		pthread_create(&clients[i], NULL, client, (void *)i);
	}
	for (size_t i = 0; i < PAIRS; i++) {
		pthread_join(clients[i], NULL);
		qsort(took_ms[i], answered[i], sizeof(double), ascending);
		printf("client %zu: %d requests, half of them below %.2f ms, 99 %% below %.2f ms\n", i, answered[i],
			took_ms[i][answered[i] / 2], took_ms[i][answered[i] * 99 / 100]);
	}
	return 0;
}
