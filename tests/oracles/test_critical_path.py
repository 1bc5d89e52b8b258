"""critical_path and wakeup_chain on real captures: their parts sum to the whole exactly, for every thread."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from functools import cache

import pytest

from tests.oracles.captures import Capture, each_with
from tests.oracles.conftest import Case
from tests.oracles.live import Live

PATH = "SELECT ts_ns, duration_ns, segment, state, depth FROM critical_path ORDER BY ts_ns"


@pytest.fixture(scope="module")
def paths_of(case_of: Callable[[Capture], Case]) -> Callable[[Capture], dict[int, list[tuple]]]:
    """The critical path of every thread of a capture, by utid: asked once for the tests that read it."""

    @cache
    def get(capture: Capture) -> dict[int, list[tuple]]:
        case, paths = case_of(capture), {}
        try:
            for utid in wall_times(case):
                case.rows(f"SET VARIABLE critical_path_utid = {utid}")
                paths[utid] = case.rows(PATH)
        finally:
            case.rows("SET VARIABLE critical_path_utid = NULL")
        return paths

    return get


def wall_times(case) -> dict[int, tuple[int, int]]:
    """From a thread's creation, or the beginning, to its last switch if it was dead then, or to the end.

    From the events, not from thread_state: an exit event comes before the switch that takes the thread off its CPU.
    """
    rows = case.rows("""
        WITH last AS (
            SELECT utid, max(ts_ns) AS ts_ns, arg_max(prev_state, ts_ns) AS prev_state FROM sched_switch GROUP BY utid
        )
        SELECT t.utid, coalesce(t.start_ts_ns, 0),
            CASE WHEN l.prev_state & 48 <> 0 THEN l.ts_ns
                WHEN t.end_ts_ns IS NOT NULL THEN greatest(t.end_ts_ns, l.ts_ns)
                ELSE c.duration_ns END
        FROM capture AS c, thread AS t JOIN (SELECT DISTINCT utid FROM followed_state WHERE duration_ns > 0) USING (utid)
        LEFT JOIN last AS l USING (utid)
        WHERE t.utid <> 0
    """)
    return {utid: (start, end) for utid, start, end in rows}


@each_with("timehist")
def test_the_segments_of_every_thread_sum_to_its_wall_time(capture: Capture, case_of, paths_of) -> None:
    deepest = 0
    for utid, (start, end) in wall_times(case_of(capture)).items():
        rows = paths_of(capture)[utid]
        assert rows[0][0] == start, utid
        assert rows[-1][0] + rows[-1][1] == end, utid
        assert all(row[1] > 0 for row in rows), utid
        for (ts_ns, duration_ns, *_), (next_ns, *_) in itertools.pairwise(rows):
            assert ts_ns + duration_ns == next_ns, (utid, "a gap or an overlap")
        assert sum(row[1] for row in rows) == end - start
        deepest = max(deepest, *(row[4] for row in rows))
    assert deepest > 0, "no waker was followed"


@each_with("timehist")
def test_what_a_thread_did_itself_is_in_its_path_unchanged(capture: Capture, case_of, paths_of) -> None:
    """Where no switch was lost: time on a CPU and time in a run queue, as thread_time has them."""
    case = case_of(capture)
    times = case.rows("""
        SELECT utid, sum(on_cpu_ns + open_on_cpu_ns), sum(run_queue_ns),
            (SELECT coalesce(sum(duration_ns), 0) FROM thread_state AS s
             WHERE s.utid = t.utid AND s.is_open AND s.state IN ('runnable', 'runnable_preempted'))::BIGINT
        FROM thread_time AS t
        WHERE NOT EXISTS (FROM thread_state AS s WHERE s.utid = t.utid AND s.is_ambiguous)
        GROUP BY utid
    """)
    assert times
    for utid, on_cpu_ns, run_queue_ns, open_ns in times:
        found: Counter[str] = Counter()
        for _, duration_ns, segment, *_ in paths_of(capture)[utid]:
            found[segment] += duration_ns
        assert found["running"] == on_cpu_ns, utid
        assert found["runnable"] == run_queue_ns + open_ns, utid


@each_with("timehist")
def test_the_steps_of_every_chain_sum_to_the_wait(capture: Capture, case_of) -> None:
    case = case_of(capture)
    try:
        case.rows("SET VARIABLE wakeup_chain_min_ns = 0")
        wrong = case.rows("""
            SELECT utid, ts_ns, wait_ns, sum(held_ns), min(held_ns) FROM wakeup_chain
            GROUP BY utid, ts_ns, wait_ns HAVING sum(held_ns) <> wait_ns OR min(held_ns) < 0 OR min(depth) <> 1
        """)
        count = case.value("SELECT count(*) FROM wakeup_chain WHERE depth = 1")
    finally:
        case.rows("SET VARIABLE wakeup_chain_min_ns = NULL")
    assert wrong == []
    sleeps = "state IN ('sleeping', 'disk_sleep', 'idle_sleep', 'stopped', 'traced', 'parked')"
    assert count == case.value(f"SELECT count(*) FROM thread_state WHERE NOT is_open AND utid <> 0 AND {sleeps}")


@each_with("timehist")
def test_the_queues_of_the_cpus_hold_every_wait_once(capture: Capture, case_of) -> None:
    case = case_of(capture)
    waits, stretches, queued = case.rows("""
        SELECT (SELECT sum(wait_ns) FROM run_queue_wait)::BIGINT,
            (SELECT sum(duration_ns) FROM run_queue_stretch)::BIGINT,
            (SELECT sum(waiting_ns) FROM run_queue_length)::BIGINT
    """)[0]
    unplaced = case.value("SELECT coalesce(sum(duration_ns), 0)::BIGINT FROM run_queue_stretch WHERE cpu IS NULL")
    assert waits == stretches == queued + unplaced
    # Each CPU that lost nothing idles or runs all the time, and never both.
    assert case.rows("SELECT * FROM cpu_queue WHERE (is_idle AND is_running) OR waiting_count < 0") == []
    # A wait ends in the queue of the CPU that the thread gets; only where moves were missed (events lost, or made by a thread
    # that a recording of some threads does not follow) is the queue that it ended in unknown.
    ended = case.rows("""
        SELECT s.ts_ns, s.utid, s.cpu AS queue_cpu, w.cpu FROM run_queue_stretch AS s
        JOIN run_queue_wait AS w ON s.utid = w.utid AND s.ts_ns + s.duration_ns = w.ts_ns + w.wait_ns
        WHERE s.is_last AND NOT w.is_open AND w.cpu IS NOT NULL
    """)
    assert ended
    assert [row for row in ended if row[2] not in (row[3], None)] == []
    if not isinstance(capture, Live) and not case.value("SELECT sum(lost_count) FROM source"):
        assert [row for row in ended if row[2] is None] == []
