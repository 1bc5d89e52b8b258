/* Functions that end in a call which does not return: it returns to the first byte of what follows them. Built without
 * padding between functions, that is the next function, and behind main, which is in a section of its own, nothing. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

static volatile unsigned long sink;
static jmp_buf back;
static volatile int rounds;

__attribute__((noinline)) static void spin(unsigned long n) { for (unsigned long i = 0; i < n; i++) sink += i * i; }
__attribute__((noinline, noreturn)) static void leave(void) { spin(400000); longjmp(back, 1); }
__attribute__((noinline, noreturn)) void ends_in_call(void) { spin(1000); leave(); }
__attribute__((noinline)) void follows(void) { spin(1000); }
/* glibc's __restore_rt, to which it returns, was not called. */
static void on_signal(int number) { (void)number; spin(200000); }

int main(int argc, char **argv)
{
	struct itimerval every = { { 0, 5000 }, { 0, 5000 } };
	int most = argc > 1 ? atoi(argv[1]) : 300;

	signal(SIGPROF, on_signal);
	setitimer(ITIMER_PROF, &every, NULL);
	while (rounds++ < most) {
		follows();
		if (!setjmp(back))
			ends_in_call();
	}
	return 0;
}
