// Reads a file from its begin to its end, pass after pass, 128 KiB at a time.
// usage: passes FILE     until SIGTERM; then prints how much was read in how long
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static volatile sig_atomic_t is_over;

static void end(int signal)
{
	(void)signal;
	is_over = 1;
}

int main(int argc, char **argv)
{
	static char block[128 * 1024];
	double began = now(), total = 0;
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1, passes = 0;
	if (fd < 0) {
		fprintf(stderr, "usage: passes FILE\n");
		return 2;
	}
	sigaction(SIGTERM, &(struct sigaction){.sa_handler = end, .sa_flags = SA_RESTART}, NULL);
	while (!is_over) {
		ssize_t got = read(fd, block, sizeof(block));
		if (got < 0) {
			perror(argv[1]);
			return 1;
		}
		total += got;
		if (got == 0) {
			passes++;
			lseek(fd, 0, SEEK_SET);
		}
	}
	printf("%.1f MiB in %.1f s, %d whole passes\n", total / 1048576, now() - began, passes);
	return 0;
}
