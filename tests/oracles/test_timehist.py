"""Run time, wait time and scheduling delay against `perf sched timehist`, line by line, and its summary per thread.

perf truncates to the microsecond; ours is in nanoseconds. Truncated the same way, every figure must be equal: there is
no tolerance. Where the two differ by definition, the test says so and translates perf's side:

* The first switch that is seen on a CPU ends a run of unknown length. perf counts it as a run of 0; thread_time does
  not count it, its length is in no column.
* perf files a switch under the sample's thread. When the thread is being reaped that is -1, so its last run is
  booked under `:-1`. The payload's prev_pid is right, and thread_time has it under that thread.
* Where the switch is missing that put a thread on its CPU, perf has it run since that CPU's previous switch, also before
  it left another CPU or was woken. Ours begins there, and the wait ends there (AS_PERF has perf's).
* The name and parent of a task that perf prints are not compared: they are its last ones. The names in the payloads
  of the switches are (test_thread_time_by_name).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import NamedTuple

from tests.oracles.captures import Capture, each_with
from tests.oracles.compare import assert_same
from tests.oracles.tools import perf_script, timehist

# thread_state with the runs that begin later than perf's, and the waits before them, as perf has them.
AS_PERF = """
WITH switched AS (
    SELECT cpu, ts_ns, lag(ts_ns) OVER (PARTITION BY cpu ORDER BY ts_ns) AS since_ts_ns
    FROM sched_switch JOIN source USING (source_id) WHERE is_timeline
), bounded AS (
    SELECT s.utid, s.cpu, s.ts_ns, s.ts_ns + s.duration_ns AS end_ns, w.since_ts_ns
    FROM thread_state AS s JOIN switched AS w ON w.cpu = s.cpu AND w.ts_ns = s.ts_ns + s.duration_ns
    WHERE s.state = 'running' AND s.is_ambiguous AND NOT s.is_open AND s.ts_ns > w.since_ts_ns AND s.duration_ns > 0
), as_perf AS (
    SELECT s.utid, s.name_id, s.cpu, s.state, s.is_open, coalesce(r.since_ts_ns, s.ts_ns) AS ts_ns,
        CASE WHEN r.utid IS NOT NULL THEN r.end_ns - r.since_ts_ns
            WHEN w.utid IS NOT NULL THEN greatest(0, w.since_ts_ns - s.ts_ns) ELSE s.duration_ns END AS duration_ns
    FROM thread_state AS s
    LEFT JOIN bounded AS r ON s.state = 'running' AND r.utid = s.utid AND r.ts_ns = s.ts_ns AND r.end_ns = s.ts_ns + s.duration_ns
    LEFT JOIN bounded AS w ON s.state <> 'running' AND w.utid = s.utid AND w.ts_ns = s.ts_ns + s.duration_ns
), runs AS (
    SELECT utid, name_id, duration_ns FROM as_perf WHERE state = 'running' AND NOT is_open
)
"""

# Every time that a thread left a CPU, with what perf calls run time, wait time and sch delay before it.
SWITCHES = f"""{AS_PERF}
-- Ordered by their ends, of those that took no time the wait first: to perf, a run whose beginning is doubtful (is_ambiguous) may begin before the wait before it.
, numbered AS (
    SELECT *, count(*) FILTER (state = 'running') OVER (
        PARTITION BY utid ORDER BY ts_ns + duration_ns, ts_ns, state = 'running' ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS run
    FROM as_perf
    -- A run that the capture's end cuts ends in no switch.
    WHERE state <> 'idle' AND NOT (state = 'running' AND is_open)
)
SELECT
    (max(n.ts_ns + n.duration_ns) FILTER (state = 'running') + any_value(c.start_clock_ns)) // 1000 AS time_us,
    max(n.cpu) FILTER (state = 'running') AS cpu,
    t.tid,
    -- perf knows a wait only between two switches of the thread: not before its first, however early it was woken.
    CASE WHEN n.run = 0 AND NOT bool_or(state NOT IN ('running', 'runnable')) THEN 0
        ELSE coalesce(sum(n.duration_ns) FILTER (state <> 'running'), 0)::BIGINT // 1000 END AS wait_us,
    -- perf forgets a sched_waking that finds the thread on the way off its CPU: for us, it slept 0 ns then.
    CASE WHEN bool_or(n.duration_ns = 0 AND state NOT IN ('running', 'runnable')) THEN 0
        ELSE coalesce(sum(n.duration_ns) FILTER (state = 'runnable'), 0)::BIGINT // 1000 END AS delay_us,
    max(n.duration_ns) FILTER (state = 'running') // 1000 AS run_us
FROM capture AS c, numbered AS n JOIN thread AS t USING (utid)
GROUP BY n.utid, n.run, t.tid
HAVING bool_or(state = 'running')
"""

# Without the idle time before a run whose beginning is not known: perf has it in that run.
IDLE_RUNS = f"""{AS_PERF}
, idle_runs AS (
    SELECT * FROM thread_state AS s WHERE state = 'idle' AND NOT is_open
    AND NOT (is_ambiguous AND EXISTS (FROM bounded AS b WHERE b.cpu = s.cpu AND b.ts_ns = s.ts_ns + s.duration_ns))
)
"""
IDLE = f"""{IDLE_RUNS}
SELECT (s.ts_ns + s.duration_ns + c.start_clock_ns) // 1000, s.cpu, NULL, s.duration_ns // 1000
FROM capture AS c, idle_runs AS s
"""


class Line(NamedTuple):
    """A line of timehist, with its true owner (None: the idle task)."""

    line: timehist.Switch
    owner: int | None
    is_first: bool
    name: str
    """The owner's, at this switch."""


def read(capture: Capture) -> list[Line]:
    """timehist's lines beside the switches that they are of: the n-th of a CPU and microsecond."""
    switches = sorted(perf_script.switches(capture.text("switches")), key=lambda switch: switch.time_ns)
    at: dict[tuple[int, int], list[perf_script.Switch]] = defaultdict(list)
    for switch in switches:
        at[switch.time_ns // 1000, switch.cpu].append(switch)
    seen: set[int] = set()
    lines = []
    for line in timehist.switches(capture.text("timehist")):
        switch = at[line.time_us, line.cpu].pop(0)
        lines.append(Line(line, switch.prev_pid or None, line.cpu not in seen, switch.prev_comm))
        seen.add(line.cpu)
    assert not any(at.values()), "switches without a line"
    return lines


@each_with("timehist")
def test_run_time_of_every_switch(capture: Capture, case_of) -> None:
    case = case_of(capture)
    ours = Counter((time_us, cpu, tid, run_us) for time_us, cpu, tid, _, _, run_us in case.rows(SWITCHES))
    ours += Counter(case.rows(IDLE))
    theirs = Counter(
        (line.time_us, line.cpu, owner, line.run_us) for line, owner, is_first, _ in read(capture) if not is_first
    )
    assert_same(ours, theirs)


@each_with("timehist")
def test_wait_and_delay_of_every_switch(capture: Capture, case_of) -> None:
    """Every line but those of threads that are being reaped: perf takes all these for one thread, of the tid -1."""
    case = case_of(capture)
    reaped = {(line.time_us, line.cpu, owner) for line, owner, *_ in read(capture) if line.task.tid == -1}
    ours = Counter(
        (time_us, cpu, tid, wait_us, delay_us)
        for time_us, cpu, tid, wait_us, delay_us, _ in case.rows(SWITCHES)
        if (time_us, cpu, tid) not in reaped
    )
    theirs = Counter(
        (line.time_us, line.cpu, owner, line.wait_us, line.delay_us)
        for line, owner, is_first, _ in read(capture)
        if not is_first and owner is not None and line.task.tid != -1
    )
    assert_same(ours, theirs)


@each_with("timehist-summary")
def test_thread_time(capture: Capture, case_of) -> None:
    """The whole summary: every thread's number of switches, run time in all, shortest, mean and longest."""
    case = case_of(capture)
    firsts: Counter[int | None] = Counter()
    reaped: dict[int | None, list[int]] = defaultdict(list)
    runs: dict[int | None, list[int]] = defaultdict(list)
    for line, owner, is_first, _ in read(capture):
        if line.task.tid == -1:
            reaped[owner].append(line.run_us)
        if is_first:
            firsts[owner] += 1
        else:
            runs[owner].append(line.run_us)

    theirs: Counter[tuple] = Counter()
    summary = {row.task.tid: row for row in timehist.summary(capture.text("timehist-summary"))}
    assert len(summary) == len(timehist.summary(capture.text("timehist-summary"))), "a tid is used twice"
    for tid in runs:
        if tid is None:
            continue
        row = summary.pop(tid, None)
        count, total_us = (row.switch_count, row.total_us) if row is not None else (0, 0)
        count += len(reaped[tid]) - firsts[tid]
        # Each reaped run was truncated alone, so their sum may be short by under a microsecond each.
        total = total_us + sum(reaped[tid])
        theirs[tid, count, min(runs[tid]), max(runs[tid]), "total", total, "slack", len(reaped[tid])] += 1
    for tid, row in summary.items():
        assert tid == -1 or row.switch_count == firsts[tid], f"perf has a thread {tid} that no switch names"

    ours: Counter[tuple] = Counter()
    for tid, count, shortest, longest, total_ns in case.rows(f"""{AS_PERF}
        SELECT tid, sum(switch_count), min(run_min_ns) // 1000, max(run_max_ns) // 1000, sum(on_cpu_ns)
        FROM thread_time WHERE switch_count > 0 AND utid NOT IN (SELECT utid FROM bounded) GROUP BY utid, tid
        UNION ALL
        SELECT tid, count(*), min(duration_ns) // 1000, max(duration_ns) // 1000, sum(duration_ns)
        FROM runs JOIN thread USING (utid) WHERE utid IN (SELECT utid FROM bounded) AND utid <> 0 GROUP BY utid, tid
    """):
        slack = len(reaped[tid])
        total_us = total_ns // 1000
        expected = next((key[5] for key in theirs if key[0] == tid), None)
        if expected is not None and expected <= total_us <= expected + slack:
            total_us = expected
        ours[tid, count, shortest, longest, "total", total_us, "slack", slack] += 1
    assert_same(ours, theirs)


@each_with("timehist")
def test_thread_time_by_name(capture: Capture, case_of) -> None:
    """Number of switches, shortest and longest run of each thread under each name that the switches tell."""
    runs: dict[tuple[int, str], list[int]] = defaultdict(list)
    for line, owner, is_first, name in read(capture):
        if owner is not None and not is_first:
            runs[owner, name].append(line.run_us)
    theirs = Counter((*key, len(times), min(times), max(times)) for key, times in runs.items())
    ours = Counter(
        case_of(capture).rows(
            f"{AS_PERF} SELECT tid, comm, switch_count, run_min_ns // 1000, run_max_ns // 1000 FROM thread_time"
            " WHERE switch_count > 0 AND utid NOT IN (SELECT utid FROM bounded)"
            " UNION ALL SELECT t.tid, n.comm, count(*), min(duration_ns) // 1000, max(duration_ns) // 1000"
            " FROM runs JOIN thread AS t USING (utid) JOIN thread_name AS n USING (name_id)"
            " WHERE utid IN (SELECT utid FROM bounded) AND utid <> 0 GROUP BY t.tid, n.comm"
        )
    )
    assert_same(ours, theirs)


@each_with("timehist-summary")
def test_mean_and_spread_of_the_runs(capture: Capture, case_of) -> None:
    """perf's avg-run and stddev (standard error of the mean, percent, two decimals) of threads it does not split."""
    case = case_of(capture)
    split = {owner for line, owner, is_first, _ in read(capture) if is_first or line.task.tid == -1}
    theirs = {
        row.task.tid: (row.avg_us, row.stddev_percent)
        for row in timehist.summary(capture.text("timehist-summary"))
        if row.task.tid not in split and row.task.tid != -1
    }
    ours = {
        tid: (mean_ns, percent)
        for tid, mean_ns, percent in case.rows(f"""{AS_PERF}
            SELECT t.tid, avg(duration_ns),
                coalesce(100 * stddev_samp(duration_ns) / sqrt(count(*)) / nullif(avg(duration_ns), 0), 0)
            FROM runs JOIN thread AS t USING (utid) GROUP BY t.utid, t.tid
        """)
        if tid not in split
    }
    assert ours.keys() == theirs.keys()
    for tid, (avg_us, percent) in theirs.items():
        # perf adds to its mean with each run, in doubles: where ours is a whole number of µs, its own may be a trifle less.
        mean_ns = ours[tid][0]
        assert (mean_ns - 1e-3) // 1000 <= avg_us <= mean_ns // 1000, tid
        # perf prints two decimals, rounded.
        assert abs(ours[tid][1] - percent) <= 0.005 + 1e-6, tid


@each_with("timehist-summary")
def test_idle_time_of_each_cpu(capture: Capture, case_of) -> None:
    theirs = timehist.idle_us(capture.text("timehist-summary"))
    ours = dict(
        case_of(capture).rows(f"{IDLE_RUNS} SELECT cpu, sum(duration_ns)::BIGINT // 1000 FROM idle_runs GROUP BY cpu")
    )
    assert ours == theirs
