"""The process that analyses are copies of: it may die, its children die with the server, and nothing of a job is left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from tests.api.conftest import SAMPLES, Running, start, upload

SLOW = "SELECT sum(levenshtein(repeat('a', 90000), repeat('b', 90000) || i::VARCHAR)) FROM range(1000) AS r(i)"


def children(pid: int) -> list[int]:
    """The processes that a process started."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def nursery(server: Running) -> int:
    """The process that is copied."""
    (found,) = (
        pid
        for pid in children(server.process.pid)
        if b"perfcase_api.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    )
    return found


def until(condition: object) -> None:
    end = time.monotonic() + 30
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.01)


def test_one_that_was_killed_is_started_again(server: Running, admin: httpx.Client, tcp: str) -> None:
    for number in range(2):
        assert admin.get(f"/v1/captures/{tcp}/views/thread", params={"limit": 1, "offset": number}).status_code == 200
        before = nursery(server)
        os.kill(before, signal.SIGKILL)
        until(lambda before=before: before not in children(server.process.pid))
    assert admin.get(f"/v1/captures/{tcp}/views/thread", params={"limit": 1, "offset": 9}).status_code == 200


def test_nothing_of_a_job_is_left(server: Running, admin: httpx.Client, tcp: str) -> None:
    def ask(number: int) -> None:
        admin.get(f"/v1/captures/{tcp}/views/thread", params={"limit": 2, "offset": number})
        # One that is hung up on while it works, and one that fails.
        with contextlib.suppress(httpx.TimeoutException):
            admin.post("/v1/sql", json={"sql": SLOW, "capture_id": tcp}, timeout=0.5)
        admin.get(f"/v1/captures/{tcp}/views/nothing{number}")

    files = Path(f"/proc/{server.process.pid}/fd")
    ask(100)
    until(lambda: not children(nursery(server)))
    before = len(list(files.iterdir()))
    for number in range(5):
        ask(101 + number)
    until(lambda: not children(nursery(server)))
    # The connections of the client stay open, one more or less.
    until(lambda: len(list(files.iterdir())) <= before + 2)
    # The folder of a job goes after its process.
    until(lambda: not list((server.store / "scratch").iterdir()))


def test_time_on_a_busy_machine_is_not_counted(short: Running) -> None:
    """An analysis that gets no CPU for longer than it may take CPU time is answered all the same."""
    with short.client() as client, ThreadPoolExecutor(1) as pool:
        (capture,) = client.get("/v1/captures").json()["captures"]
        # A fifth of what it may take, where nothing else is at work.
        sql = "SELECT sum(levenshtein(repeat('a', 8000), repeat('b', 8000) || i::VARCHAR)) FROM range(1) AS r(i)"
        body = {"sql": sql, "capture_id": capture["capture_id"]}
        answer = pool.submit(client.post, "/v1/sql", json=body, timeout=60)
        until(lambda: children(nursery(short)))
        (analysis,) = children(nursery(short))
        os.kill(analysis, signal.SIGSTOP)
        time.sleep(2.5)
        os.kill(analysis, signal.SIGCONT)
        assert answer.result().status_code == 200


def test_a_killed_server_takes_its_jobs_along(tmp_path: Path) -> None:
    running = start(tmp_path / "store")
    with running.client() as client:
        capture = upload(client, SAMPLES / "d-nagle" / "pipe.perfcase")
        with contextlib.suppress(httpx.TimeoutException):
            client.post("/v1/sql", json={"sql": SLOW, "capture_id": capture}, timeout=0.2)
        parent = nursery(running)
        until(lambda: children(parent))
        all_of_them = [parent, *children(parent)]
        running.stop(signal.SIGKILL)
    until(lambda: not any(_is_alive(pid) for pid in all_of_them))


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
