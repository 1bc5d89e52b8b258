#include <stdlib.h>
/* Sums and divides: the division's instruction has most of the samples. */
static __attribute__((noinline)) unsigned long hot(unsigned long n, unsigned long d)
{
	unsigned long sum = 0;
	for (unsigned long i = 1; i < n; i++)
		sum += (i * 7919) / (d | (i & 3));
	return sum;
}
static __attribute__((noinline)) void touch(char *p, unsigned long n)
{
	for (unsigned long i = 0; i < n; i += 4096)
		p[i] = 1;
}
int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], 0, 0) : 1000;
	char *p = malloc(256 << 12);
	touch(p, 256 << 12);
	return hot(n, argc + 12) == 42;
}
