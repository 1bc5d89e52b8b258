/* A small function that is called from everywhere: twelve services, none of which does much else. */
#include <time.h>
volatile unsigned long sink;
__attribute__((noinline)) int is_kind(unsigned long v) { for (int i = 0; i < 40; i++) v = v * 2862933555777941757UL + 3037000493UL; sink += v; return v & 1; }
/* Its caller is lost where a leaf function makes no frame: the services are its caller's callers. */
__attribute__((noinline)) int check(unsigned long v) { int r = is_kind(v); sink += r; return r; }
#define SERVICE(n) __attribute__((noinline)) int service_##n(unsigned long v) { int r = 0; for (int i = 0; i < 50; i++) r += check(v + i); sink += r; return r + n; }
SERVICE(1) SERVICE(2) SERVICE(3) SERVICE(4) SERVICE(5) SERVICE(6) SERVICE(7) SERVICE(8) SERVICE(9) SERVICE(10) SERVICE(11) SERVICE(12)
__attribute__((noinline)) int serve(unsigned long v)
{
	int (*all[])(unsigned long) = { service_1, service_2, service_3, service_4, service_5, service_6, service_7, service_8, service_9, service_10, service_11, service_12 };
	int r = all[v % 12](v);
	sink += r;
	return r;
}
int main(void)
{
	struct timespec now, start;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	for (unsigned long v = 0;; v++) {
		serve(v);
		if (v % 1000 == 0 && (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), now.tv_sec - start.tv_sec >= 1)) return 0;
	}
}
