"""A library computes with as many threads as the host of a developer has CPUs, for each request: 8 threads each on two CPUs, which wait for each other at every step.

Source: OpenMP's specification, OMP_NUM_THREADS; joblib's manual, "Avoiding over-subscription of CPU resources".
"""

import socket
import time
from pathlib import Path

from programs import DOOR, linked_clients

CAUSE = "each request of scorer waits at barriers for threads of its own process (libgomp), of which there are far more than CPUs"
NAMED = r"[lL]ibgomp|GOMP|scorer.*(of its (own |other )?threads|own threads|its thread scorer|futex)"
BLAMED = r"^(client|scorer) .*(futex.* (running|cpu_taken) scorer|gomp)"
MOVED = (
    r"[lL]ibgomp|GOMP|scorer waits .*scorer|scorer.*(of its (own |other )?threads|own threads|its thread scorer|futex)"
)
FELT = True

CODE = """
#include <stdlib.h>

static void *serve(void *at)
{
    long link = (long)at;
    char word[8];
    static __thread double row[4096];
    while (read(link, word, 4) > 0) {
        double sum = 0;
        for (int step = 0; step < 60; step++) {
            double *values = row, part = 0;
#pragma omp parallel for reduction(+ : part)
            for (int n = 0; n < 4096; n++) {
                values[n] = values[n] * 0.99 + n % 17;
                part += values[n] / (1 + step);
            }
            sum += part;
        }
        write(link, sum > 0 ? "high" : "low ", 4);
    }
    close(link);
    return 0;
}

int main(void)
{
    open_door(serve);
}
"""


def play(scene):
    Path("/scene/scorer.c").write_text(DOOR + CODE)
    scene.run("gcc", "-O2", "-pthread", "-fopenmp", "-o", "/scene/scorer", "/scene/scorer.c")
    scene.start("/scene/scorer", OMP_NUM_THREADS="8" if scene.is_bad else "1")
    scene.wait_port(9000)

    def ask(link: socket.socket) -> None:
        link.sendall(b"work")
        link.recv(100)

    linked_clients(scene, 9000, ask, name="client", pause_s=0.03, count=3)
    with scene.recording():
        time.sleep(1)
