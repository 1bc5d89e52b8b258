"""What descriptors were (fd_history, and the sockets of socket_answer) reads only the calls that tell something new, which the
import marks: it must be what all calls tell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from perfcase.case import query, store
from tests.support.alone import alone
from tests.support.imports import SAMPLES, imported

CHURN = """
import fcntl, os, random, select, socket, subprocess, threading, time

lock = threading.Lock()  # what one thread closes, no other uses meanwhile
end = time.monotonic() + 0.3

def work(seed):
    chance = random.Random(seed)
    mine = []
    while time.monotonic() < end:
        with lock:
            step(chance, mine)

def step(chance, mine):
    kind = chance.randrange(13)
    if kind == 0:
        mine.append(os.open('/dev/zero', os.O_RDWR))
    elif kind == 1:
        mine += os.pipe()
    elif kind == 2:
        for end in socket.socketpair():
            mine.append(end.detach())
    elif kind == 3 and mine:
        os.close(mine.pop(chance.randrange(len(mine))))
    elif kind == 4 and len(mine) > 1:
        one, other = chance.sample(mine, 2)
        os.dup2(one, other)
    elif kind == 5 and mine:
        mine.append(os.dup(chance.choice(mine)))
    elif kind == 6 and mine:
        os.set_inheritable(chance.choice(mine), chance.random() < 0.5)
    elif kind == 7:
        subprocess.run(['/bin/true'], pass_fds=mine[:2])
    elif kind == 8:
        mine.append(select.epoll().fileno())  # closed with its object
    elif len(mine) > 12:
        while mine:
            os.close(mine.pop())
    else:
        for _ in range(8):
            fd = chance.choice(mine) if mine and chance.random() < 0.8 else chance.randrange(40)
            try:
                chance.choice((os.fstat, os.isatty, lambda fd: os.write(fd, b""), lambda fd: os.read(fd, 0)))(fd)
            except OSError:
                pass

def guarded(seed):
    while time.monotonic() < end:
        try:
            work(seed)
        except OSError:
            seed += 10

for thread in [threading.Thread(target=guarded, args=(seed,)) for seed in range(3)]:
    thread.start()
"""
VIEWS = ("fd_history", "socket_answer", "peer_wait")


def compared(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Rows of each view, each of which is there whatever calls are marked."""
    counts = {}
    for view in VIEWS:
        connection.execute(f"CREATE TEMP TABLE marked_{view} AS FROM {view}")
    # It stands before the table, for the views, too.
    connection.execute("CREATE TEMP TABLE syscall AS SELECT * REPLACE (true AS is_fd_event) FROM syscall")
    for view in VIEWS:
        differing = f"(FROM {view} EXCEPT ALL FROM marked_{view}) UNION ALL (FROM marked_{view} EXCEPT ALL FROM {view})"
        assert connection.execute(f"FROM ({differing}) LIMIT 5").fetchall() == [], view
        counts[view] = connection.execute(f"SELECT count(*) FROM {view}").fetchall()[0][0]
    return counts


@pytest.mark.parametrize(
    "sample", ["x86_64-scheduling/x", "aarch64-counters/x", "c-blocking-call/get", "d-probe-load/probed"]
)
def test_the_calls_that_are_marked_tell_what_all_tell(sample: str) -> None:
    case = imported(SAMPLES / f"{sample}.perfcase")
    with query.connect(case.folder) as connection:
        marked, all_of = connection.execute("SELECT count(*) FILTER (is_fd_event), count(*) FROM syscall").fetchall()[0]
        assert 0 < marked < all_of * 0.6
        assert compared(connection)["fd_history"] > 100


def test_threads_that_open_close_and_use_at_random(tmp_path: Path) -> None:
    data = tmp_path / "churn.data"
    command = [
        "perf",
        "record",
        "-q",
        "-B",
        "-k",
        "CLOCK_MONOTONIC",
        "-m",
        "4M",
        "-e",
        "raw_syscalls:*",
        "-o",
        data,
        "--",
    ]
    with alone("recorders"):
        subprocess.run([*command, sys.executable, "-c", CHURN], check=True, timeout=60)
    with query.connect(store.open_case(data, tmp_path / "churn.case").folder) as connection:
        assert compared(connection)["fd_history"] > 300
        (made,) = connection.execute(
            "SELECT list(DISTINCT opened_by) FROM marked_fd_history WHERE opened_by IN ('pipe2', 'socketpair', 'dup', 'dup2')"
        ).fetchall()[0]
        assert len(made) > 2
