"""Switches and waits against the kernel's own accounts of the same threads: /proc/PID/task/TID/status and schedstat."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from perfcase import store
from tests.recorder.support import RECORDER, TRACEFS, environment, helper

SAMPLES = sorted((Path(__file__).parents[2] / "sample-captures").glob("*/x.perfcase"))

# Between two readings of a thread's status that lie where every CPU is being traced.
SWITCHES = """
WITH chosen AS (
    SELECT s.* FROM sched_switch AS s JOIN source AS o USING (source_id) WHERE o.is_timeline
), traced AS (
    SELECT max(first_ns) AS first_ns, min(last_ns) AS last_ns
    FROM (SELECT cpu, min(ts_ns) AS first_ns, max(ts_ns) AS last_ns FROM chosen GROUP BY cpu)
), reading AS (
    SELECT utid, min(ts_ns) AS from_ns, max(ts_ns) AS to_ns,
        max(voluntary_switch_count) - min(voluntary_switch_count) AS voluntary,
        max(involuntary_switch_count) - min(involuntary_switch_count) AS involuntary
    FROM proc_thread JOIN traced ON ts_ns BETWEEN first_ns AND last_ns
    WHERE voluntary_switch_count IS NOT NULL
    GROUP BY utid HAVING count(*) > 1
)
SELECT t.tid, t.comm, any_value(r.voluntary), count(*) FILTER (s.prev_state NOT IN (0, 256)),
    any_value(r.involuntary), count(*) FILTER (s.prev_state IN (0, 256))
FROM reading AS r JOIN thread AS t USING (utid)
LEFT JOIN chosen AS s ON s.utid = r.utid AND s.ts_ns BETWEEN r.from_ns AND r.to_ns
GROUP BY r.utid, t.tid, t.comm
ORDER BY t.tid
"""


@pytest.mark.parametrize("sample", SAMPLES, ids=[path.parent.name for path in SAMPLES])
def test_voluntary_and_involuntary_switches_of_each_thread(sample: Path, tmp_path: Path) -> None:
    """Exactly the counters of status, of 19 threads in 20. A thread's files are read one after the other, under one time: who
    switches meanwhile may be off by two."""
    shutil.copy(sample, tmp_path / "x.perfcase")
    with duckdb.connect(str(store.open_case(tmp_path / "x.perfcase").folder / "case.duckdb"), read_only=True) as case:
        rows = case.execute(SWITCHES).fetchall()
    assert len(rows) > 20
    assert sum(row[2] + row[4] for row in rows) > 500
    wrong = [row for row in rows if abs(row[2] - row[3]) > 2 or abs(row[4] - row[5]) > 2]
    assert wrong == []
    assert sum((row[2], row[4]) != (row[3], row[5]) for row in rows) <= len(rows) // 20


@pytest.mark.parametrize("sample", SAMPLES, ids=[path.parent.name for path in SAMPLES])
def test_what_two_sources_recorded_counts_once(sample: Path, tmp_path: Path) -> None:
    """perf and ftrace both have the switches of these captures: one is chosen, data_quality says which."""
    shutil.copy(sample, tmp_path / "x.perfcase")
    with duckdb.connect(str(store.open_case(tmp_path / "x.perfcase").folder / "case.duckdb"), read_only=True) as case:
        counts = dict(case.execute("SELECT source_id, count(*) FROM sched_switch GROUP BY source_id").fetchall())
        assert len(counts) == 2
        ((chosen, name),) = case.execute("SELECT source_id, name FROM source WHERE is_timeline").fetchall()
        feeding = "SELECT source FROM data_quality WHERE list_contains(string_split(feeds, ', '), 'thread_state')"
        assert case.execute(feeding).fetchall() == [(name,)]
        # Each switch ends an interval, but for the first of each CPU, which ends one that began before the capture.
        ((ends,),) = case.execute(
            "SELECT count(*) FROM thread_state WHERE state IN ('running', 'idle') AND NOT is_open"
        ).fetchall()
        ((cpus,),) = case.execute(
            "SELECT count(DISTINCT cpu) FROM sched_switch WHERE source_id = ?", [chosen]
        ).fetchall()
        assert ends == counts[chosen] - cpus
        ((switches,),) = case.execute("SELECT sum(switch_count)::BIGINT FROM context_switches").fetchall()
        ((of_threads,),) = case.execute(
            "SELECT count(*) FROM sched_switch WHERE source_id = ? AND prev_pid <> 0", [chosen]
        ).fetchall()
        assert switches == of_threads


# Two threads share each CPU; each at its beginning and end writes the clock and its schedstat: time on a CPU, in a run queue, runs.
CONTENDED = """
import os, sys, threading, time
def account():
    with open("/proc/thread-self/schedstat") as file:
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC), *map(int, file.read().split())
for worker in range(2 * os.cpu_count()):
    if os.fork() == 0:
        before = account()
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            if worker % 2:
                time.sleep(0.0005)
        after = account()
        with open(f"{sys.argv[1]}/{os.getpid()}", "w") as file:
            print(*before, *after, file=file)
        os._exit(0)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
"""


@pytest.mark.skipif(TRACEFS is None or not Path("/proc/self/schedstat").exists(), reason="no tracefs, or no schedstat")
def test_time_in_run_queues_of_each_thread(tmp_path: Path) -> None:
    """The kernel's clock of run queues runs apart from the trace's, and a wait begins with sched_wakeup, just after the enqueue.

    So each wait, and each run, may differ by some microseconds: 20 are allowed, and 1 % for the clocks' rates. The number of
    runs is exact. Where ftrace's list of pids let a switch to the thread slip, the beginning of its run is doubtful
    (is_ambiguous): such runs are allowed for.
    """
    helper()
    (tmp_path / "accounts").mkdir()
    command = [
        RECORDER,
        "--quiet",
        "-o",
        tmp_path / "x.perfcase",
        "--",
        sys.executable,
        "-c",
        CONTENDED,
        tmp_path / "accounts",
    ]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    with duckdb.connect(str(store.open_case(tmp_path / "x.perfcase").folder / "case.duckdb"), read_only=True) as case:
        if case.execute("SELECT count(*) FROM source WHERE is_timeline AND name = 'ftrace'").fetchone() == (0,):
            pytest.skip("this machine does not let the tests trace switches")
        ((start_ns,),) = case.execute("SELECT start_clock_ns FROM capture").fetchall()
        accounts = {int(path.name): path.read_text().split() for path in (tmp_path / "accounts").iterdir()}
        assert len(accounts) >= 2
        waited = 0
        for tid, fields in accounts.items():
            from_ns, cpu0, wait0, runs0, to_ns, cpu1, wait1, runs1 = map(int, fields)
            ((ready_ns,),) = case.execute(
                "SELECT coalesce(sum(wait_ns), 0)::BIGINT FROM run_queue_wait WHERE tid = ? AND ts_ns BETWEEN ? AND ?",
                [tid, from_ns - start_ns, to_ns - start_ns],
            ).fetchall()
            ((on_cpu_ns, run_count, doubtful_ns),) = case.execute(
                "SELECT coalesce(sum(least(ts_ns + duration_ns, $to) - greatest(ts_ns, $from)), 0)::BIGINT,"
                "  count(*) FILTER (ts_ns > $from), coalesce(sum(duration_ns) FILTER (is_ambiguous), 0)::BIGINT"
                " FROM thread_state JOIN thread USING (utid)"
                " WHERE tid = $tid AND state = 'running' AND ts_ns < $to AND ts_ns + duration_ns > $from",
                {"tid": tid, "from": from_ns - start_ns, "to": to_ns - start_ns},
            ).fetchall()
            told = (tid, wait1 - wait0, ready_ns, cpu1 - cpu0, on_cpu_ns, runs1 - runs0, run_count)
            allowed = 20_000 * (run_count + 1) + doubtful_ns
            assert abs(wait1 - wait0 - ready_ns) <= allowed + (wait1 - wait0) // 100, told
            assert abs(cpu1 - cpu0 - on_cpu_ns) <= allowed + (cpu1 - cpu0) // 100, told
            assert runs1 - runs0 == run_count, told
            waited += wait1 - wait0
        assert waited > 100_000_000, "nobody had to wait"
        ready = case.execute("SELECT sum(ready_ns)::BIGINT FROM ready_time").fetchone()[0]
        assert ready == case.execute("SELECT sum(wait_ns)::BIGINT FROM run_queue_wait").fetchone()[0]
        # All of the command's processes are in one control group: that of this test, which starts them.
        by_cgroup = (
            "SELECT cgroup, sum(ready_ns)::BIGINT, sum(on_cpu_ns)::BIGINT FROM ready_time_by_cgroup GROUP BY cgroup"
        )
        groups = {cgroup: times for cgroup, *times in case.execute(by_cgroup).fetchall()}
        on_cpu = "SELECT sum(duration_ns)::BIGINT FROM thread_state WHERE state = 'running'"
        paths = [line.split(":", 2)[2] for line in Path("/proc/self/cgroup").read_text().splitlines()]
        assert set(groups) <= set(paths)
        assert [sum(times) for times in zip(*groups.values(), strict=True)] == [
            ready,
            case.execute(on_cpu).fetchone()[0],
        ]
