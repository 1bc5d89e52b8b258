/* Two threads that read 8 KiB at random places of a disk, past the page cache, with a pause of 20 ms.
 * usage: reader DEVICE, until it is killed */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 8192 };

static int disk;
static off_t blocks;

static void *reader(void *seed_of)
{
	unsigned seed = (unsigned)(uintptr_t)seed_of;
	struct timespec pause = {0, 20000000};
	void *buffer = aligned_alloc(4096, BLOCK);
	prctl(PR_SET_NAME, "table-reader");
	for (;;) {
		/* ENODATA: a bad sector */
		if (pread(disk, buffer, BLOCK, rand_r(&seed) % blocks * BLOCK) < 0 && errno != EIO && errno != ENODATA)
			exit(1);
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	pthread_t other;
	if (argc != 2 || (disk = open(argv[1], O_RDONLY | O_DIRECT)) < 0)
		return fputs("usage: reader DEVICE\n", stderr), 2;
	blocks = lseek(disk, 0, SEEK_END) / BLOCK;
	pthread_create(&other, NULL, reader, (void *)1);
	reader((void *)2);
}
