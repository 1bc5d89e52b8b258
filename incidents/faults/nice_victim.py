"""A service was started with the lowest priority, beside a job of ordinary priority that has work for all CPUs.

Source: sched(7), "The nice value": each unit is a factor of 1.25.
"""

import time

from programs import kept_clients, node

CAUSE = "node has nice 19 and waits for the CPUs that transcode has"
NAMED = r"(cpu_saturation|unclaimed|noisy).*transcode"
BLAMED = r"^(node|client) .*cpu_taken transcode"
MOVED = r"transcode"


def play(scene):
    node(
        scene,
        """
        require('http').createServer((request, response) => {
          let s = 0; for (let i = 0; i < 3e6; i++) s += i;
          response.end('hello' + s);
        }).listen(3000, '127.0.0.1');
        """,
        nice=19 if scene.is_bad else 0,
    )
    kept_clients(scene, 3000)

    def work() -> None:
        end = time.monotonic() + 0.05
        while time.monotonic() < end:
            pass
        time.sleep(0 if scene.is_bad else 0.5)

    for _ in range(3):
        scene.fork("transcode", work)
    with scene.recording():
        time.sleep(1)
