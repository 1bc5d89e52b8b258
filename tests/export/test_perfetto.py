"""perfetto: Perfetto's own trace processor reads the trace without an error, and answers as the views do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from tests.export.conftest import EVENT, paths
from tests.export.trace_processor import TraceProcessor
from tests.oracles.compare import assert_same


@pytest.fixture(scope="module")
def trace(exported: Callable[[str], Path]) -> Iterator[TraceProcessor]:
    with TraceProcessor(exported("perfetto")) as loaded:
        yield loaded


@pytest.fixture
def start(connection: duckdb.DuckDBPyConnection) -> int:
    """What Perfetto's clock, CLOCK_BOOTTIME, said when the recording began."""
    return connection.execute("SELECT start_boottime_ns FROM capture").fetchone()[0]


def test_nothing_is_wrong_with_the_trace(trace: TraceProcessor) -> None:
    assert trace.rows("SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value <> 0") == []


def test_every_stay_on_a_cpu(trace: TraceProcessor, connection: duckdb.DuckDBPyConnection, start: int) -> None:
    """The idle tasks' too. What a CPU did before its first switch is in no trace of events."""
    ours = Counter(
        connection.execute(
            "SELECT tid, cpu, ts_ns + ?, duration_ns FROM thread_state JOIN thread USING (utid)"
            " WHERE state IN ('running', 'idle') AND NOT is_open AND cpu IS NOT NULL AND tid IS NOT NULL",
            [start],
        ).fetchall()
    )
    theirs = Counter(
        trace.rows("SELECT t.tid, s.cpu, s.ts, s.dur FROM sched AS s JOIN thread AS t USING (utid) WHERE s.dur > 0")
    )
    assert len(theirs) > 5000
    assert_same(ours, theirs)


def test_every_wait_for_a_cpu(trace: TraceProcessor, connection: duckdb.DuckDBPyConnection, start: int) -> None:
    """Those that a wakeup began and those of threads that could have run on: Perfetto knows a waker of the former only."""
    ours = Counter(
        connection.execute(
            "SELECT w.tid, w.ts_ns + ?, w.wait_ns, w.state = 'runnable' FROM run_queue_wait AS w"
            " WHERE NOT w.is_open AND w.tid <> 0",
            [start],
        ).fetchall()
    )
    theirs = Counter(
        (tid, ts, dur, bool(woken))
        for tid, ts, dur, woken in trace.rows(
            "SELECT t.tid, s.ts, s.dur, s.waker_utid IS NOT NULL FROM thread_state AS s JOIN thread AS t USING (utid)"
            " WHERE s.state IN ('R', 'R+') AND s.dur >= 0 AND t.tid <> 0"
        )
    )
    assert len(theirs) > 2000
    assert_same(ours, theirs)


def test_every_system_call(trace: TraceProcessor, connection: duckdb.DuckDBPyConnection, start: int) -> None:
    ours = Counter(
        connection.execute(
            "SELECT t.tid, s.ts_ns + ?, s.duration_ns, s.name, s.ret FROM syscall AS s JOIN thread AS t USING (utid)"
            " WHERE s.duration_ns IS NOT NULL",
            [start],
        ).fetchall()
    )
    theirs = Counter(
        trace.rows(
            "SELECT t.tid, s.ts, s.dur, s.name, extract_arg(s.arg_set_id, 'debug.ret') FROM slice AS s"
            " JOIN thread_track AS k ON k.id = s.track_id JOIN thread AS t USING (utid) WHERE s.category = 'syscall'"
        )
    )
    assert len(theirs) > 1000
    assert_same(ours, theirs)


def test_every_wait_with_work(trace: TraceProcessor, connection: duckdb.DuckDBPyConnection, start: int) -> None:
    ours = Counter(
        connection.execute(
            "SELECT tid, ts_ns + ?, duration_ns, due, 'wait,' || kind FROM blame_part WHERE tid IS NOT NULL", [start]
        ).fetchall()
    )
    theirs = Counter(
        trace.rows(
            "SELECT t.tid, s.ts, s.dur, s.name, s.category FROM slice AS s JOIN thread_track AS k ON k.id = s.track_id"
            " JOIN thread AS t USING (utid) WHERE s.category LIKE 'wait,%' AND k.name = 'waits for'"
        )
    )
    assert len(theirs) > 100
    assert_same(ours, theirs)


def test_counters(trace: TraceProcessor, connection: duckdb.DuckDBPyConnection, start: int) -> None:
    busy = connection.execute(
        "SELECT 'CPU ' || cpu || ' busy [ratio]', ts_ns + ?, busy_ratio::DOUBLE FROM cpu_utilization"
        " WHERE busy_ratio IS NOT NULL",
        [start],
    ).fetchall()
    events = connection.execute(
        "SELECT event, sum(count)::DOUBLE FROM pmc_event WHERE count IS NOT NULL GROUP BY 1"
    ).fetchall()
    rows = trace.rows(
        "SELECT t.name, c.ts, c.value FROM counter AS c JOIN counter_track AS t ON t.id = c.track_id WHERE t.name LIKE '%]'"
    )
    assert_same(Counter(busy), Counter(row for row in rows if row[0].endswith("[ratio]")))
    sums: Counter[str] = Counter()
    for name, _, value in rows:
        if name.endswith("per interval]"):
            sums[name.partition(" CPU ")[0]] += value
    assert sums.keys() == dict(events).keys()
    for event, total in events:
        assert sums[event] == pytest.approx(total, rel=1e-12), event


def test_samples(trace: TraceProcessor, connection: duckdb.DuckDBPyConnection) -> None:
    frames = dict(trace.rows("SELECT id, name FROM stack_profile_frame"))
    sites = {key: (parent, frames[frame]) for key, parent, frame in
             trace.rows("SELECT id, parent_id, frame_id FROM stack_profile_callsite")}  # fmt: skip

    def chain(site: int | None) -> tuple[str, ...]:
        names: list[str] = []
        while site is not None:
            site, name = sites[site]
            names.append(name)
        return tuple(reversed(names))

    theirs: Counter[tuple[str, ...]] = Counter()
    for site, number in trace.rows("SELECT callsite_id, count(*) FROM perf_sample GROUP BY 1"):
        theirs[chain(site)] += number
    ours: Counter[tuple[str, ...]] = Counter()
    for path, number in paths(connection, "count(*)").items():
        ours[path[1:]] += number
    assert_same(ours, theirs)
    by_cpu = connection.execute(
        # Perfetto has no sample of an unknown thread (one that has exited): it is the idle one's there.
        "SELECT cpu, coalesce(tid, 0), count(*) FROM sample JOIN perf_event USING (event_id) LEFT JOIN thread USING (utid)"
        " WHERE name = ? GROUP BY ALL",
        [EVENT],
    ).fetchall()
    told = trace.rows("SELECT p.cpu, t.tid, count(*) FROM perf_sample AS p JOIN thread AS t USING (utid) GROUP BY 1, 2")
    assert_same(Counter(by_cpu), Counter(told))


def test_names(trace: TraceProcessor, connection: duckdb.DuckDBPyConnection) -> None:
    ours = set(
        connection.execute("SELECT tid, last(comm ORDER BY utid) FROM thread WHERE tid > 0 GROUP BY tid").fetchall()
    )
    assert ours <= set(trace.rows("SELECT tid, name FROM thread"))
