/* Two processes on one CPU that offer it to each other after every microsecond of work. */
#define _GNU_SOURCE
#include <sched.h>
#include <unistd.h>
int main(void)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof set, &set);
	fork();
	for (int i = 0; i < 4000; i++) {
		for (volatile int n = 0; n < 2000; n++) {}
		sched_yield();
	}
	return 0;
}
