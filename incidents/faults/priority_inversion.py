"""A lock of a server is had now and then by its thread with the lowest priority, which gets no CPU: other work has a higher one.

Source: Sha, Rajkumar, Lehoczky, "Priority Inheritance Protocols" (1990); sched(7), "The nice value".
"""

import os
import time

from programs import compiled

CAUSE = "requests of engine wait for a lock that its thread flusher has, which waits for a CPU: export has them, and flusher's nice value is 19"
NAMED = r"engine.*flusher|flusher.*engine"
BLAMED = r"^(client|engine) .*(flusher|export)"
MOVED = r"flusher"
TRUE_ALSO = r"cpu_saturation.*export"
FELT = True

PROGRAM = """
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void compute(long turns)
{
    for (volatile long turn = 0; turn < turns; turn++)
        ;
}

static void *flush(void *nice)
{
    prctl(PR_SET_NAME, "flusher");
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), (int)(long)nice);
    for (;;) {
        pthread_mutex_lock(&lock);
        compute(4000000);
        pthread_mutex_unlock(&lock);
        usleep(20000);
    }
}

static void *serve(void *link)
{
    char word[100];
    while (read((int)(long)link, word, sizeof word) > 0) {
        pthread_mutex_lock(&lock);
        compute(10000);
        pthread_mutex_unlock(&lock);
        write((int)(long)link, "ok", 2);
    }
    close((int)(long)link);
    return 0;
}

int main(int count, char **words)
{
    pthread_t thread;
    pthread_create(&thread, 0, flush, (void *)atol(words[count - 1]));
    open_door(serve);
}
"""


def play(scene):
    compiled(scene, "engine", PROGRAM, "19" if scene.is_bad else "0")

    def export():
        os.nice(max(0, 5 - os.nice(0)))
        for _ in range(1_000_000):
            pass

    for _ in range(4):
        scene.fork("export", export)
    with scene.recording():
        time.sleep(1)
