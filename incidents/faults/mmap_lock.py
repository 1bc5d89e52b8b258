"""A thread changes the protection of a large area again and again: the others of its process, which map and touch memory, wait for the address space.

Source: the kernel's documentation, "Process Addresses" (mmap_lock); LWN.net, "The ongoing search for mmap_lock scalability" (2022).
"""

import time

from programs import compiled

CAUSE = "threads of engine wait for its address space, which compactor holds in mprotect"
NAMED = r"engine.*(mmap_lock|address space|compactor|mprotect)|compactor.*engine"
BLAMED = r"^(client|engine) .*(compactor|mprotect)"
MOVED = r"compactor|mprotect"
FELT = True

PROGRAM = """
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

static size_t size;

static void *compact(void *area)
{
    prctl(PR_SET_NAME, "compactor");
    for (;;) {
        mprotect(area, size, PROT_READ);
        mprotect(area, size, PROT_READ | PROT_WRITE);
        usleep(2000);
    }
}

static void *serve(void *link)
{
    char word[100];
    while (read((int)(long)link, word, sizeof word) > 0) {
        char *room = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(room, 1, 65536);
        munmap(room, 65536);
        write((int)(long)link, "ok", 2);
    }
    close((int)(long)link);
    return 0;
}

int main(int count, char **words)
{
    size = (size_t)atol(words[count - 1]) << 20;
    char *area = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(area, size, MADV_NOHUGEPAGE);
    memset(area, 1, size);
    pthread_t thread;
    pthread_create(&thread, 0, compact, area);
    open_door(serve);
}
"""


def play(scene):
    compiled(scene, "engine", PROGRAM, "3000" if scene.is_bad else "1")
    with scene.recording():
        time.sleep(1)
