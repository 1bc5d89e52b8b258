"""How many threads there were of each name and state, which thread_census counts only where threads share a name, against its definition."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from perfcase.case import query
from perfcase.catalogue.kit import expand
from tests.support.fakecase import make_case
from tests.support.imports import ROOT, SAMPLES, imported
from tests.support.scale import scaled

COUNTED = expand(
    (ROOT / "tests" / "oracles" / "sql" / "thread_census.sql").read_text(encoding="utf-8"), "thread_census"
)
CAPTURES = sorted(str(path.relative_to(SAMPLES)) for path in SAMPLES.glob("*/*.perfcase"))


def compared(folder: Path) -> tuple[list[tuple], list[tuple]]:
    """The rows that the view has, in their order, and those that it must have."""
    with query.connect(folder) as connection:
        ours, theirs = (connection.execute(sql).fetchall() for sql in ("FROM thread_census", COUNTED))
        return ours, theirs


@pytest.mark.parametrize("name", CAPTURES)
def test_every_row_is_as_defined(name: str) -> None:
    ours, theirs = compared(imported(SAMPLES / name).folder)
    assert ours == theirs


def thread_rows(
    chance: random.Random, source_id: int, snapshots: list[int], utid: int, pids: list[int]
) -> list[dict[str, object]]:
    """Make the rows of a thread: in each snapshot of a while, or not; it may change its name, its state and the process it is seen in."""
    first = chance.choice((0, chance.randrange(len(snapshots))))
    seen = snapshots[first : chance.choice((len(snapshots), chance.randrange(len(snapshots) + 1)))]
    if chance.random() < 0.3:
        # Twice in one and not in another: as many as snapshots.
        seen = [chance.choice((snapshot, max(snapshot - 1, snapshots[0]))) for snapshot in seen]
    if chance.random() < 0.2:
        seen = [snapshot for snapshot in seen if chance.random() < 0.8]
    names = chance.sample(("a", "b", f"own{utid}"), chance.choice((1, 1, 2)))
    return [
        {
            "ts_ns": snapshot * 1_000_000_000 + utid + chance.randrange(3), "snapshot": snapshot, "source_id": source_id, "utid": utid,
            "tid": 100 + utid, "pid": chance.choice(pids), "comm": chance.choice(names), "state": chance.choice("SSSRQ"),
            "wait_channel": chance.choice((None, "futex_wait_queue", "ep_poll")),
        }
        for snapshot in seen
    ]  # fmt: skip


def test_threads_that_come_and_go(tmp_path: Path) -> None:
    total = 0
    for seed in range(scaled(100)):
        chance = random.Random(seed)
        processes: dict[int, int | None] = {
            utid: chance.choice((1, 1, 2, None)) for utid in range(1, chance.randrange(2, 9))
        }
        threads = [
            {"utid": utid, "tid": 100 + utid, "pid": 101, "upid": upid, "comm": "t"} for utid, upid in processes.items()
        ]
        rows: list[dict[str, object]] = []
        for source_id in range(chance.choice((1, 1, 2))):
            # Few, often: all that a thread has may be twice in the first one.
            taken = range(chance.choice((2, 12)))
            snapshots = sorted(chance.sample(taken, min(len(taken), chance.randrange(1, 10))))
            for utid in processes:
                rows += thread_rows(chance, source_id, snapshots, utid, chance.choice(([101], [101], [101, 102])))
        if not rows:
            continue
        chance.shuffle(rows)
        named = {
            "process": [{"upid": 1, "pid": 101, "name": "one"}, {"upid": 2, "pid": 102, "name": "two"}],
            "thread_name": [
                {"name_id": 1, "utid": 1, "ts_ns": 0, "comm": "first"}, {"name_id": 2, "utid": 1, "ts_ns": 5_000_000_000, "comm": "second"},
            ],
        }  # fmt: skip
        ours, theirs = compared(make_case(tmp_path / f"{seed}.case", {"thread": threads, "proc_thread": rows, **named}))
        assert ours == theirs, seed
        total += len(ours)
    assert total > 20
