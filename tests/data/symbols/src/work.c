/* C: static functions, recursion, a signal handler, a function in a segment of its own, calls through a library. */
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>
#include "work.h"

volatile unsigned sink;

static __attribute__((noinline)) unsigned leaf(unsigned value) {
    for (int turn = 0; turn < 20000; turn++)
        value = value * 22695477u + 1;
    return value;
}

__attribute__((noinline)) static unsigned descend(unsigned depth) {
    return depth == 0 ? leaf(sink) : descend(depth - 1) + 1;
}

#ifdef FAR
#define PLACE __attribute__((noinline, section(".far")))
#else
#define PLACE __attribute__((noinline))
#endif

PLACE unsigned far_away(unsigned value) {
    for (int turn = 0; turn < 20000; turn++)
        value = value * 134775813u + 1;
    return value;
}

static void on_alarm(int signal) {
    (void)signal;
    for (int turn = 0; turn < 4; turn++)
        sink = leaf(sink);
}

static __attribute__((noinline)) void ask_the_kernel(void) {
    char text[4096];
    int pipes[2];
    if (pipe(pipes) != 0)
        return;
    for (int turn = 0; turn < 20; turn++)
        if (write(pipes[1], text, sizeof text) > 0 && read(pipes[0], text, sizeof text) > 0)
            sink++;
    close(pipes[0]);
    close(pipes[1]);
}

int main(int count, char **words) {
    struct itimerval each = {{0, 9000}, {0, 9000}};
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &each, NULL);
    while (time_is_left(count, words)) {
        sink = descend(12);
        sink = far_away(sink);
        sink = library_entry(sink);
        ask_the_kernel();
    }
    return 0;
}
