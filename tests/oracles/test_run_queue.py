"""Waits for a CPU against perf's text, worked out without perfcase; against `perf sched timehist` and `perf sched latency`.

No tolerance but the tools' printed digits: perf sched timehist truncates to the microsecond, perf sched latency rounds.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict

from tests.oracles.captures import Capture, each_with
from tests.oracles.compare import assert_same
from tests.oracles.test_timehist import read
from tests.oracles.tools import sched_latency, sched_text, timehist


def bucket(wait_ns: int) -> tuple[int, int]:
    """The power of two that a time is in: 0 to 2, 2 to 4, 4 to 8, without the upper end."""
    low = 1
    while low * 2 <= wait_ns:
        low *= 2
    return (0, 2) if low == 1 else (low, low * 2)


def whole(capture: Capture) -> list[sched_text.Event]:
    """The events, of which none is missing but those of perf itself at the end."""
    rows = sched_text.events(capture.text("sched-events"))
    assert len(sched_text.twice_on(rows)) <= 1
    return rows


def waits(capture: Capture) -> list[sched_text.Wait]:
    """Every wait, except those of a thread of which a switch is missing: perf sched timehist takes them to end later."""
    rows = whole(capture)
    unclear = sched_text.twice_on(rows)
    found = sched_text.histories(rows)
    return [wait for wait in found if isinstance(wait, sched_text.Wait) and wait.tid not in unclear]


def unclear_threads(capture: Capture) -> set[int]:
    return sched_text.twice_on(whole(capture))


@each_with("sched-events")
def test_every_wait(capture: Capture, case_of) -> None:
    ours = Counter(
        case_of(capture).rows("""
            SELECT w.tid, w.ts_ns + c.start_clock_ns, w.ts_ns + w.wait_ns + c.start_clock_ns, w.state, w.cpu, k.tid
            FROM capture AS c, run_queue_wait AS w LEFT JOIN thread AS k ON k.utid = w.waker_utid
            WHERE NOT w.is_open
        """)
    )
    theirs = Counter((w.tid, w.start_ns, w.end_ns, w.state, w.cpu, w.waker) for w in waits(capture))
    unclear = unclear_threads(capture)
    assert len(theirs) > 20
    assert_same(Counter({row: count for row, count in ours.items() if row[0] not in unclear}), theirs)


@each_with("sched-events")
def test_histogram_of_each_thread(capture: Capture, case_of) -> None:
    theirs: dict[tuple, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for wait in waits(capture):
        length = wait.end_ns - wait.start_ns
        row = theirs[wait.tid, *bucket(length)]
        row[0] += 1
        row[1] += wait.state == "runnable"
        row[2] += wait.state == "runnable_preempted"
        row[3] += length
    rows = case_of(capture).rows("""
        SELECT tid, bucket_min_ns, bucket_max_ns, sum(wait_count), sum(woken_count), sum(preempted_count), sum(wait_ns)
        FROM run_queue_latency GROUP BY ALL
    """)
    unclear = unclear_threads(capture)
    ours = Counter(row for row in rows if row[0] not in unclear)
    assert_same(ours, Counter((*key, *figures) for key, figures in theirs.items()))


@each_with("sched-events")
def test_histogram_of_the_stays_on_a_cpu(capture: Capture, case_of) -> None:
    """From the switch that names the thread as the next one to the one that takes it off; whole processes are threads here."""
    came: dict[int, int] = {}
    theirs: Counter[tuple] = Counter()
    for event in sched_text.events(capture.text("sched-events")):
        if event.name == "sched_switch":
            tid = int(event.fields["prev_pid"])
            if event.cpu in came and tid:
                theirs[bucket(event.time_ns - came[event.cpu])] += 1
            came[event.cpu] = event.time_ns
    ours = Counter()
    for low, high, count in case_of(capture).rows(
        "SELECT bucket_min_ns, bucket_max_ns, run_count FROM on_cpu_distribution"
    ):
        ours[low, high] += count
    assert_same(ours, theirs)


@each_with("timehist")
def test_delays_of_each_thread(capture: Capture, case_of) -> None:
    """perf's sch delay is the wait after a wakeup. Threads that are being reaped are one thread, -1, to perf: left out."""
    lines = [(line, owner) for line, owner, is_first, _ in read(capture) if owner is not None and not is_first]
    reaped = {owner for line, owner in lines if line.task.tid == -1}
    delays: dict[int, list[int]] = defaultdict(list)
    for line, owner in lines:
        if owner not in reaped and line.delay_us:
            delays[owner].append(line.delay_us)
    # The wait before a run that the capture cuts has no line; one under 1 µs is printed as 0. perf forgets a sched_waking that
    # finds the thread on the way off its CPU: for us, it slept 0 ns then.
    ours = case_of(capture).rows("""
        WITH cut AS (SELECT utid, ts_ns FROM thread_state WHERE state = 'running' AND is_open)
        SELECT tid, sum(wait_ns // 1000)::BIGINT, max(wait_ns // 1000), count(*)
        FROM run_queue_wait AS w
        ANTI JOIN cut ON cut.utid = w.utid AND cut.ts_ns = w.ts_ns + w.wait_ns
        ANTI JOIN thread_state AS s ON s.utid = w.utid AND s.ts_ns = w.ts_ns AND s.duration_ns = 0 AND s.waker_utid IS NOT NULL
        WHERE NOT is_open AND state = 'runnable' AND wait_ns >= 1000
        GROUP BY w.utid, tid
    """)
    assert_same(
        Counter(row for row in ours if row[0] not in reaped),
        Counter((tid, sum(found), max(found), len(found)) for tid, found in delays.items()),
    )


@each_with("latency")
def test_perf_sched_latency(capture: Capture, case_of) -> None:
    """Every row of perf sched latency: waits, mean, the longest one and when it was.

    perf 6.1 differs in two ways. It knows the state 0 as runnable but not the state of a thread that was preempted (256),
    so it takes such a wait for a sleep: left out on our side. And it counts a wait of 0 for a thread that it first sees
    when it gets a CPU: taken off on its side.
    """
    seen: set[int] = set()
    guessed: set[int] = set()
    for event in sched_text.events(capture.text("sched-events")):
        if event.name == "sched_switch":
            seen.add(int(event.fields["prev_pid"]))
            if int(event.fields["next_pid"]) not in seen:
                guessed.add(int(event.fields["next_pid"]))
            seen.add(int(event.fields["next_pid"]))
        elif event.name in sched_text.WAKEUPS:
            seen.add(int(event.fields["pid"]))
    ours = {
        tid: (count, total_ns, max_ns, start_us, end_us)
        for tid, count, total_ns, max_ns, start_us, end_us in case_of(capture).rows("""
            SELECT w.tid, count(*), sum(w.wait_ns)::BIGINT, max(w.wait_ns),
                arg_max(w.ts_ns + c.start_clock_ns, w.wait_ns) // 1000,
                arg_max(w.ts_ns + w.wait_ns + c.start_clock_ns, w.wait_ns) // 1000
            FROM capture AS c, run_queue_wait AS w
            LEFT JOIN sched_switch AS s ON s.utid = w.utid AND s.ts_ns = w.ts_ns AND w.state = 'runnable_preempted'
            WHERE NOT w.is_open AND coalesce(s.prev_state, 0) <> 256
            GROUP BY w.utid, w.tid
        """)
    }
    rows = sched_latency.latencies(capture.text("latency"))
    assert len(rows) > 5
    told: Counter[tuple] = Counter()
    known: Counter[tuple] = Counter()
    for row in rows:
        count, total_ns, max_ns, start_us, end_us = ours.pop(row.tid, (0, 0, 0, 0, 0))
        told[row.tid, row.count, row.avg_us, row.max_us, row.start_us, row.end_us] += 1
        count += row.tid in guessed
        # perf rounds the mean and the longest to a microsecond as printf does, and truncates the moments.
        mean_us, max_us = (sched_latency.micros(f"{ns / 1e6:.3f}") for ns in (total_ns / max(count, 1), max_ns))
        known[row.tid, count, mean_us, max_us, start_us, end_us] += 1
    assert_same(known, told)
    assert ours == {}, "threads that perf does not print"


@each_with("timehist-migrations")
def test_migrations(capture: Capture, case_of) -> None:
    """The last column of perf sched timehist -s -M; a thread that is being reaped has no row of its own there."""
    rows = timehist.summary(capture.text("timehist-migrations"))
    theirs = {row.task.tid: row.migration_count for row in rows if row.task.tid not in (-1, None)}
    ours = dict(case_of(capture).rows("SELECT tid, sum(migration_count) FROM migrations GROUP BY utid, tid"))
    assert sum(theirs.values()) > 0
    assert {tid: ours.get(tid) for tid in theirs} == theirs


@each_with("sched-events")
def test_changes_of_cpu(capture: Capture, case_of) -> None:
    """A run is from a switch of its CPU to the next one, or to the end."""
    current: dict[int, tuple[int, int]] = {}
    runs: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for event in sched_text.events(capture.text("sched-events")):
        if event.name == "sched_switch":
            if event.cpu in current:
                runs[int(event.fields["prev_pid"])].append((event.time_ns, event.cpu))
            current[event.cpu] = (event.time_ns, int(event.fields["next_pid"]))
    # The end: perf itself may be on two CPUs, for it stops the recording of one after the other.
    for cpu, (time_ns, tid) in sorted(current.items(), key=lambda entry: entry[1]):
        runs[tid].append((time_ns, cpu))
    theirs = {}
    for tid, found in runs.items():
        cpus = [cpu for _, cpu in found]
        changes = sum(before != after for before, after in itertools.pairwise(cpus))
        if tid and changes:
            theirs[tid] = changes
    ours = dict(
        case_of(capture).rows("SELECT tid, sum(cpu_change_count) AS n FROM migrations GROUP BY utid, tid HAVING n > 0")
    )
    for tid in unclear_threads(capture):
        # What it did on the CPU that it was seen leaving last is known; not how long it was on the other one.
        assert abs(ours.pop(tid, 0) - theirs.pop(tid, 0)) <= 2
    assert ours == theirs
