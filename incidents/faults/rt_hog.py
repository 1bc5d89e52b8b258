"""Programs with a real-time priority take both CPUs nearly all of the time: a service of ordinary priority waits.

Source: sched(7), SCHED_FIFO: "a nonblocking infinite loop … will block all threads with a lower priority".
"""

import ctypes
import os
import time

from programs import kept_clients, node

CAUSE = "sensor, of real-time priority, has the CPUs that node waits for"
NAMED = r"(cpu_saturation|unclaimed|noisy).*sensor"
BLAMED = r"^(node|client) .*cpu_taken sensor"
MOVED = r"sensor"


def play(scene):
    node(
        scene,
        """
        require('http').createServer((request, response) => {
          let s = 0; for (let i = 0; i < 1e6; i++) s += i;
          response.end('hello' + s);
        }).listen(3000, '127.0.0.1');
        """,
    )
    kept_clients(scene, 3000)
    number = ctypes.c_int(10)

    def measure() -> None:
        if scene.is_bad and os.sched_getscheduler(0) == os.SCHED_OTHER:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(number.value))
        end = time.monotonic() + (0.08 if scene.is_bad else 0.002)
        while time.monotonic() < end:
            pass
        time.sleep(0.02)

    for _ in range(2):
        scene.fork("sensor", measure)
    with scene.recording():
        time.sleep(1)
