"""What each process did, which process_activity takes from sums over its threads, against its definition: each row with the one before it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from perfcase.case import query
from perfcase.catalogue.views import load_views
from tests.support.fakecase import make_case
from tests.support.imports import ROOT, SAMPLES, imported
from tests.support.scale import scaled

BY_THREAD = (ROOT / "tests" / "oracles" / "sql" / "process_activity.sql").read_text(encoding="utf-8")
CAPTURES = sorted(str(path.relative_to(SAMPLES)) for path in SAMPLES.glob("*/*.perfcase"))
COUNTERS = (
    "user_ns", "system_ns", "run_queue_ns", "block_delay_ns", "minor_fault_count", "major_fault_count", "read_bytes", "write_bytes",
    "cancelled_write_bytes", "voluntary_switch_count", "involuntary_switch_count",
)  # fmt: skip


def difference(folder: Path) -> tuple[int, list[tuple]]:
    """How many rows the view has, and those that only one of the two gives."""
    sql = load_views()["process_activity"].sql
    theirs = BY_THREAD.removesuffix(")\nFROM by_thread\n") + sql[sql.index("), by_process AS (") :]
    with query.connect(folder) as connection:
        connection.execute("CREATE TEMP TABLE ours AS FROM process_activity")
        connection.execute(f"CREATE TEMP TABLE theirs AS {theirs}")
        ((count,),) = connection.execute("SELECT count(*) FROM ours").fetchall()
        wrong = "FROM ours EXCEPT ALL FROM theirs UNION ALL (FROM theirs EXCEPT ALL FROM ours) LIMIT 5"
        return count, connection.execute(wrong).fetchall()


@pytest.mark.parametrize("name", CAPTURES)
def test_every_row_is_as_defined(name: str) -> None:
    assert difference(imported(SAMPLES / name).folder)[1] == []


def thread_rows(
    chance: random.Random, source_id: int, snapshots: list[int], utid: int, pid: int
) -> list[dict[str, object]]:
    """Make the rows of a thread: in each snapshot of a while, or not; some counters are never or not always known, and some go back."""
    first = chance.choice((0, chance.randrange(len(snapshots))))
    seen = snapshots[first : chance.choice((len(snapshots), chance.randrange(len(snapshots) + 1)))]
    if chance.random() < 0.3:
        # Twice in one and not in another: as many as snapshots.
        seen = [chance.choice((snapshot, max(snapshot - 1, snapshots[0]))) for snapshot in seen]
    if chance.random() < 0.2:
        seen = [snapshot for snapshot in seen if chance.random() < 0.8]
    known = {name for name in COUNTERS if chance.random() < 0.8}
    # Unknown now and then: none, all of them, or one alone.
    uneven = chance.choice(((), COUNTERS, *[(chance.choice(COUNTERS),)] * 3))
    values = dict.fromkeys(COUNTERS, chance.randrange(5) * 1000)
    rows = []
    for snapshot in seen:
        values = {name: value + chance.choice((0, 0, 7, 100, -3)) for name, value in values.items()}
        rows.append(
            {
                "ts_ns": snapshot * 1_000_000_000 + utid + chance.randrange(3), "snapshot": snapshot, "source_id": source_id, "utid": utid,
                "tid": 100 + utid, "pid": pid, "comm": f"c{chance.randrange(2)}", "state": "S", "start_boottime_ns": 5,
                "thread_count": 3, "virtual_bytes": chance.randrange(9), "resident_bytes": chance.randrange(9),
                **{name: None if name not in known or (name in uneven and chance.random() < 0.3) else values[name] for name in COUNTERS},
            }
        )  # fmt: skip
    return rows


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
            snapshots = sorted(chance.sample(range(12), chance.randrange(1, 10)))
            for utid in processes:
                rows += thread_rows(chance, source_id, snapshots, utid, 101)
        if not rows:
            continue
        case = make_case(tmp_path / f"{seed}.case", {"thread": threads, "proc_thread": rows})
        count, wrong = difference(case)
        assert wrong == [], seed
        total += count
    assert total > 20
