"""A part of a capture by thread, process or CPU against what perf prints of it: perf script's --tid, --pid and -C choose lines
of its text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import pytest

from tests.oracles.captures import Capture, each_with
from tests.oracles.compare import assert_same
from tests.oracles.test_samples import script_samples
from tests.oracles.tools.perf_script import Sample
from tests.support.scale import scaled

SAMPLES = """
    SELECT s.ts_ns + c.start_clock_ns, s.cpu, t.pid, t.tid, e.name, s.period
    FROM capture AS c, sample AS s
    JOIN perf_event AS e USING (event_id)
    JOIN thread AS t USING (utid)
"""
OF: dict[str, Callable[[Sample], int | None]] = {
    "thread": lambda sample: sample.tid,
    "process": lambda sample: sample.pid,
    "cpu": lambda sample: sample.cpu,
}


@pytest.mark.parametrize("key", OF)
@each_with("script")
def test_every_sample_of_it(capture: Capture, case_of, key: str) -> None:
    samples = [sample for sample in script_samples(capture) if sample.tid != -1]
    case = case_of(capture)
    # The idle task's tid 0 is a thread on each CPU; a thread whose process has another number only later is of the later one.
    known = {number for (number,) in case.rows(f"SELECT DISTINCT {'tid' if key == 'thread' else 'pid'} FROM thread")}
    for number, _ in Counter(filter(None, map(OF[key], samples))).most_common(scaled(3)):
        if key == "cpu" or number in known:
            theirs = [sample for sample in samples if OF[key](sample) == number]
            ours = case.only(f"{key}={number}").rows(SAMPLES)
            assert_same(Counter(ours), Counter((s.time_ns, s.cpu, s.pid, s.tid, s.event, s.period) for s in theirs))


@each_with("script")
def test_every_sample_under_a_name(capture: Capture, case_of) -> None:
    """A thread by its name: what perf prints under this name, not what ran there before and after."""
    samples = [sample for sample in script_samples(capture) if sample.tid != -1]
    names = Counter(s.comm for s in samples if re.fullmatch("[A-Za-z][A-Za-z_-]*", s.comm))
    for name, _ in names.most_common(scaled(10)):
        theirs = [sample for sample in samples if sample.comm == name]
        ours = case_of(capture).only(f"thread={name}").rows(SAMPLES)
        assert_same(Counter(ours), Counter((s.time_ns, s.cpu, s.pid, s.tid, s.event, s.period) for s in theirs))


@each_with("script")
def test_threads_add_up_to_the_whole(capture: Capture, case_of) -> None:
    """Time on a CPU, waiting for one, and system calls, of each process on its own."""
    case = case_of(capture)
    for sql in (
        "SELECT tid, sum(on_cpu_ns), sum(run_queue_ns) FROM thread_time GROUP BY utid, tid",
        "SELECT tid, name, sum(call_count), sum(duration_total_ns) FROM syscall_summary GROUP BY tid, name",
    ):
        whole = case.rows(
            f"SELECT t.pid, f.* FROM ({sql}) AS f JOIN (SELECT DISTINCT tid, pid FROM thread) AS t USING (tid)"
        )
        pids = sorted({row[0] for row in whole if row[0]})[: scaled(5, 2)]
        parts = [(pid, *row) for pid in pids for row in case.only(f"process={pid}").rows(sql)]
        assert_same(Counter(parts), Counter(row for row in whole if row[0] in pids))
