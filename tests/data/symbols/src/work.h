/* What the C workloads share: each runs for the milliseconds of CPU time in its first argument. */
#ifndef WORK_H
#define WORK_H
#include <stdlib.h>
#include <time.h>

static inline int time_is_left(int count, char **words) {
    long limit = count > 1 ? atol(words[1]) : 300;
    return clock() / (CLOCKS_PER_SEC / 1000) < limit;
}

unsigned library_entry(unsigned value);
extern volatile unsigned sink;
#endif
