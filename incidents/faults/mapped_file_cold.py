"""A search engine maps its index into memory. The index is not in the page cache, and the disk is slow: each access to a page waits for it.

Source: mmap(2); Crotty, Leis, Pavlo, "Are You Sure You Want to Use MMAP in Your Database Management System?" (CIDR 2022).
"""

import os
import time

from programs import compiled

CAUSE = "search waits in page faults for pages of /mnt/index, which come from a slow disk"
NAMED = r"search.*(disk|loop\d|/mnt/index)"
BLAMED = r"^(client|search) .*(disk|loop\d|/mnt/index)"
MOVED = r"search.*(disk|loop\d|/mnt/index)"
FELT = True

PROGRAM = """
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

static unsigned char *index_;

static void *serve(void *link)
{
    char word[100];
    unsigned seed = (unsigned)(long)link;
    while (read((int)(long)link, word, sizeof word) > 0) {
        unsigned sum = 0;
        for (int page = 0; page < 3; page++)
            sum += index_[(size_t)(rand_r(&seed) % 60000) * 4096];
        write((int)(long)link, &sum, 4);
    }
    close((int)(long)link);
    return 0;
}

int main(int count, char **words)
{
    (void)count;
    int file = open(words[1], O_RDONLY);
    index_ = mmap(0, 60000UL * 4096, PROT_READ, MAP_SHARED, file, 0);
    madvise(index_, 60000UL * 4096, MADV_RANDOM);
    open_door(serve);
}
"""


def play(scene):
    device = scene.file_system("/mnt", "512M")
    with open("/mnt/index", "wb") as file:
        for _ in range(240):
            file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())
        if scene.is_bad:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    compiled(scene, "search", PROGRAM, "/mnt/index")
    scene.throttle(device, 100)
    with scene.recording():
        time.sleep(1)
