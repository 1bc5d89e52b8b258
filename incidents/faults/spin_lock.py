"""Threads of a server take a lock by asking again and again (sched_yield), and the one that has it sleeps: the others burn CPU time meanwhile.

Source: sched_yield(2), "Notes": "use of sched_yield() with nondeterministic scheduling policies ... very likely means your application
design is broken"; Malte Skarupke, "Measuring Mutexes, Spinlocks and how Bad the Linux Scheduler Really is" (2019).
"""

import socket
import threading
import time
from pathlib import Path

CAUSE = "threads of matcher spin in sched_yield for a lock of their own, whose holder sleeps"
NAMED = r"matcher.*sched_yield"
BLAMED = r"^(client|matcher) .*(sched_yield|matcher)"
MOVED = r"matcher.*sched_yield|sched_yield.*matcher"
FELT = True

PROGRAM = """
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

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
    int door = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(9000), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    bind(door, (void *)&at, sizeof at);
    listen(door, 64);
    for (;;) {
        pthread_t thread;
        long link = accept(door, 0, 0);
        pthread_create(&thread, 0, serve, (void *)link);
        pthread_detach(thread);
    }
}
"""


def play(scene):
    Path("/scene/matcher.c").write_text(PROGRAM)
    scene.run("gcc", "-O2", "-pthread", "-o", "/scene/matcher", "/scene/matcher.c")
    scene.start("/scene/matcher", "8000" if scene.is_bad else "1")
    scene.wait_port(9000)
    links = {}

    def ask():
        link = links.get(threading.get_ident()) or links.setdefault(
            threading.get_ident(), socket.create_connection(("127.0.0.1", 9000))
        )
        with scene.clock.asking():
            link.sendall(b"work")
            link.recv(100)
        time.sleep(0.01)

    scene.fork("client", ask, count=4)
    with scene.recording():
        time.sleep(1)
