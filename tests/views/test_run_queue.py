"""What the importer finds by following threads and CPUs, against its definition in SQL over the rows of thread_state.

Random switches, wakeups and moves: analyzer/crates/perfcase-import/src/timeline/queue_tests.rs.
"""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pytest

from perfcase.case import query, store
from tests.support.imports import ROOT, SAMPLES, imported
from tests.support.perfdata import Recording
from tests.support.run_queue import PAIRS, difference
from tests.support.scale import SCALE, scaled

CRITICAL_PATH = (ROOT / "tests" / "oracles" / "sql" / "critical_path.sql").read_text(encoding="utf-8")
CAPTURES = sorted(str(path.relative_to(SAMPLES)) for path in SAMPLES.glob("*/*.perfcase"))


@pytest.mark.parametrize("name", CAPTURES)
def test_every_row_is_as_defined(name: str) -> None:
    with query.connect(imported(SAMPLES / name).folder) as connection:
        for pair, (ours, _) in PAIRS.items():
            assert connection.execute(difference(pair)).fetchall() == [], pair
            ((count,),) = connection.execute(f"SELECT count(*) FROM ({ours})").fetchall()
            assert count > 100 or pair == "unclaimed_level"


def compare_paths(connection: duckdb.DuckDBPyConnection, most: int) -> int:
    """Compare the paths of the ``most`` threads that slept most often, and the one that is chosen by default; how deep they are."""
    utids = connection.execute(f"""
        SELECT utid FROM thread_state WHERE utid <> 0 GROUP BY utid ORDER BY count(waker_utid) DESC, utid LIMIT {most}
    """).fetchall()
    deepest = 0
    for (utid,) in [("NULL",), *utids]:
        connection.execute(f"SET VARIABLE critical_path_utid = {utid}")
        connection.execute("CREATE OR REPLACE TEMP TABLE ours AS FROM critical_path")
        connection.execute(f"CREATE OR REPLACE TEMP TABLE theirs AS {CRITICAL_PATH}")
        for one, other in (("ours", "theirs"), ("theirs", "ours")):
            wrong = connection.execute(f"FROM {one} EXCEPT ALL FROM {other} ORDER BY ts_ns LIMIT 5").fetchall()
            assert wrong == [], f"thread {utid}: only {one}"
        ((found,),) = connection.execute("SELECT coalesce(max(depth), 0) FROM ours").fetchall()
        deepest = max(deepest, found)
    return deepest


@pytest.mark.parametrize("name", CAPTURES)
def test_every_path_is_as_the_states_say(name: str) -> None:
    with query.connect(imported(SAMPLES / name).folder) as connection:
        # A thread takes 20 ms: the eight that sleep most often have the deepest paths.
        compare_paths(connection, scaled(200) if SCALE >= 1 else 8)


def switches(chance: random.Random) -> Recording:
    """Make two CPUs that switch among eight threads, which sleep and wake each other; some events are lost."""
    made, now, running, awake = Recording(), 1000, [0, 0], set(range(1, 9))
    lost = chance.choice((0, 0, 0.02, 0.2))
    for _ in range(400):
        now += chance.choice((0, 1, 7, 100))
        cpu = chance.randrange(2)
        asleep = [tid for tid in range(1, 9) if tid not in awake and tid not in running]
        if asleep and chance.random() < 0.5:
            woken = chance.choice(asleep)
            awake.add(woken)
            if chance.random() >= lost:
                made.waking(now, cpu, running[cpu], woken)
            continue
        ready = [tid for tid in awake if tid not in running]
        after = chance.choice(ready) if ready and chance.random() < 0.8 else 0
        before, state = running[cpu], chance.choice((0, 1, 1, 1, 2, 0x10 if chance.random() < 0.02 else 4))
        if before != after:
            if before and state:
                awake.discard(before)
            running[cpu] = after
            if chance.random() >= lost:
                made.switch(now, cpu, before, state if before else 0, after)
    return made


def test_every_path_of_random_switches_is_as_the_states_say(tmp_path: Path) -> None:
    deepest = 0
    for seed in range(scaled(60)):
        data = switches(random.Random(seed)).write(tmp_path / f"{seed}.data")
        with query.connect(store.open_case(data, tmp_path / f"{seed}.case").folder) as connection:
            assert connection.execute(difference("bursts")).fetchall() == [], seed
            deepest = max(deepest, compare_paths(connection, 4))
    assert deepest > 2
