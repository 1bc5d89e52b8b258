"""Sixty threads wait for one condition, and each event wakes all of them: one has work, the others sleep again.

Source: pthread_cond_broadcast(3P): "thundering herd"; accept(2) and EPOLLEXCLUSIVE in epoll_ctl(2).
"""

import threading
import time

CAUSE = "each event wakes 60 threads of dispatcher, of which one has work"
NAMED = r"dispatcher.*(thread|woke|herd|lock)"
BLAMED = r"^dispatcher"
MOVED = r"dispatcher"


def play(scene):
    state = {}

    def work():
        # The first thread produces, the others consume.
        if "condition" not in state:
            state.update(condition=threading.Condition(), items=[])
            for _ in range(60):
                threading.Thread(target=consume, daemon=True).start()
        with state["condition"]:
            state["items"].append(1)
            state["condition"].notify_all() if scene.is_bad else state["condition"].notify()
        time.sleep(0.002)

    def consume():
        while True:
            with state["condition"]:
                while not state["items"]:
                    state["condition"].wait()
                state["items"].pop()

    scene.fork("dispatcher", work)
    with scene.recording():
        time.sleep(1)
