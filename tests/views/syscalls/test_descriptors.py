"""What the importer says about descriptors and turns on sockets is what the queries over raw events say (tests/oracles/sql)."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from perfcase.case import query, store
from perfcase.catalogue.views import load_views
from tests.support.alone import alone
from tests.support.callsim import Simulation
from tests.support.descriptors import HELD, differences
from tests.support.imports import SAMPLES, imported
from tests.support.scale import scaled

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
CAPTURES = sorted(str(path.relative_to(SAMPLES)) for path in SAMPLES.glob("*/*.perfcase"))


def held(connection: duckdb.DuckDBPyConnection) -> Counter[str]:
    """Return the rows of each view, none of which may differ."""
    found = differences(connection)
    assert {name: rows for name, (_, rows) in found.items()} == {key: [] for key in HELD}
    return Counter({name: count for name, (count, _) in found.items()})


def test_calls_with_the_same_hash_are_told_apart() -> None:
    """syscall_log makes the text of calls that are alike once, and finds it by a hash: here all calls of a thread have the same."""
    whole = load_views()["syscall_log"].sql
    dull = re.sub(r"hash\(c\.utid,[^)]*\)", "hash(c.utid)", whole)
    assert dull != whole
    with query.connect(imported(SAMPLES / CAPTURES[-1]).folder) as connection:
        connection.execute(f"CREATE TEMP TABLE dull AS {dull}")
        connection.execute("CREATE TEMP TABLE usual AS FROM syscall_log")
        ((count, texts),) = connection.execute("SELECT count(*), count(DISTINCT text) FROM usual").fetchall()
        assert count > texts > 100
        assert connection.execute("FROM usual EXCEPT ALL FROM dull").fetchall() == []
        assert connection.execute("FROM dull EXCEPT ALL FROM usual").fetchall() == []


@pytest.mark.parametrize("capture", CAPTURES)
def test_of_the_sample_captures(capture: str) -> None:
    with query.connect(imported(SAMPLES / capture).folder) as connection:
        assert held(connection)["fd_history"] > 0


def test_of_random_calls_and_snapshots(tmp_path: Path) -> None:
    """Pipes, copies, forks, programs, ranges, snapshots in between, lost entries and returns."""
    total: Counter[str] = Counter()
    made: set[tuple[str | None, ...]] = set()
    for seed in range(scaled(60)):
        simulation = Simulation(seed)
        simulation.run(2000)
        case = store.open_case(simulation.write(tmp_path / f"{seed}"), tmp_path / f"{seed}.case")
        with query.connect(case.folder) as connection:
            total += held(connection)
            made |= set(
                connection.execute("SELECT DISTINCT opened_by, known_from, end_known_from FROM fd_history").fetchall()
            )
    assert min(total.values()) > scaled(60) * 5
    for column, expected in (
        (0, {"pipe2", "socketpair", "dup", "dup2", "dup3", "fcntl", "accept4", "openat2"}),
        (1, {"snapshot", "call", "use"}),
        (2, {"close", "close_range", "exec", "replaced", "made_again", "snapshot", "exit"}),
    ):
        assert expected <= {row[column] for row in made}


def test_of_threads_that_open_close_and_use_at_random(tmp_path: Path) -> None:
    data = tmp_path / "churn.data"
    options = ["-q", "-B", "-k", "CLOCK_MONOTONIC", "-m", "4M", "-e", "raw_syscalls:*", "-o", str(data)]
    with alone("recorders"):
        subprocess.run(["perf", "record", *options, "--", sys.executable, "-c", CHURN], check=True, timeout=60)
    with query.connect(store.open_case(data, tmp_path / "churn.case").folder) as connection:
        assert held(connection)["fd_history"] > 300
        (made,) = connection.execute(
            "SELECT list(DISTINCT opened_by) FROM fd_history WHERE opened_by IN ('pipe2', 'socketpair', 'dup', 'dup2')"
        ).fetchall()[0]
        assert len(made) > 2
