"""Threads of a server take a lock by asking again and again (sched_yield), and the one that has it sleeps: the others burn CPU time meanwhile.

Source: sched_yield(2), "Notes": "use of sched_yield() with nondeterministic scheduling policies ... very likely means your application
design is broken"; Malte Skarupke, "Measuring Mutexes, Spinlocks and how Bad the Linux Scheduler Really is" (2019).
"""

import time

from programs import compiled

CAUSE = "threads of matcher spin in sched_yield for a lock of their own, whose holder sleeps"
NAMED = r"matcher.*sched_yield"
BLAMED = r"^(client|matcher) .*(sched_yield|matcher)"
MOVED = r"matcher.*sched_yield|sched_yield.*matcher"
FELT = True

PROGRAM = """
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_flag taken = ATOMIC_FLAG_INIT;
static int pause_us;

static void *serve(void *link)
{
    char word[100];
    while (read((int)(long)link, word, sizeof word) > 0) {
        while (atomic_flag_test_and_set(&taken))
            sched_yield();
        usleep(pause_us);
        atomic_flag_clear(&taken);
        write((int)(long)link, "ok", 2);
    }
    close((int)(long)link);
    return 0;
}

int main(int count, char **words)
{
    pause_us = atoi(words[count - 1]);
    open_door(serve);
}
"""


def play(scene):
    compiled(scene, "matcher", PROGRAM, "8000" if scene.is_bad else "1")
    with scene.recording():
        time.sleep(1)
