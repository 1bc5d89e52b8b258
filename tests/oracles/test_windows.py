"""A part of a capture against what perf says of the same part (--time): every run and its scheduling delay, the time of each
thread on the CPUs, the samples of each function. Windows cut runs and waits at both of their edges.

Where perf's delay is by definition not that of the part, it is translated:

* If the window's beginning cuts a run, perf adds to its delay what of the run was before the window. In the window
  the thread has not waited for it.
* A delay that began before the window counts whole. In the window is only its end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from typing import NamedTuple

from tests.oracles.captures import Capture, each_with
from tests.oracles.compare import assert_same
from tests.oracles.test_profile import function_profile
from tests.oracles.test_timehist import IDLE, SWITCHES
from tests.oracles.tools import perf_report, perf_script, run, timehist
from tests.oracles.tools.address import Places


class Run(NamedTuple):
    """A run in the window, as timehist has it."""

    time_us: int
    cpu: int
    tid: int | None
    """The thread that left the CPU; timehist does not know it while a thread is being reaped. None: the idle task."""
    delay_us: int
    run_us: int
    is_cut: bool
    is_reaped: bool
    is_first: bool
    """No switch was seen on the CPU before: perf knows no run."""


def runs(capture: Capture) -> list[Run]:
    """The lines of timehist, each beside the switch that it is of."""
    text = capture.text("window-timehist")
    start_ns, end_ns = run.window(text)
    switches: defaultdict[int, list[perf_script.Switch]] = defaultdict(list)
    for switch in sorted(perf_script.switches(capture.text("switches")), key=lambda switch: switch.time_ns):
        switches[switch.cpu].append(switch)
    at: Counter[tuple[int, int]] = Counter()
    found = []
    for line in timehist.switches(text):
        on_cpu = switches[line.cpu]
        # What the window's end cuts has that time; its switch is the next.
        nth = bisect_left(on_cpu, line.time_us * 1000, key=lambda switch: switch.time_ns) + at[line.time_us, line.cpu]
        at[line.time_us, line.cpu] += 1
        began_ns = on_cpu[nth - 1].time_ns if nth else start_ns
        assert line.time_us == min(on_cpu[nth].time_ns, end_ns) // 1000
        clipped = min(line.delay_us, (began_ns - start_ns) // 1000) if began_ns > start_ns else 0
        found.append(
            Run(
                line.time_us, line.cpu, on_cpu[nth].prev_pid or None, clipped, line.run_us, began_ns < start_ns or
                on_cpu[nth].time_ns > end_ns or clipped < line.delay_us, line.task.tid == -1, nth == 0,
            )
        )  # fmt: skip
    return found


@each_with("window-timehist")
def test_every_run_and_its_delay(capture: Capture, case_of) -> None:
    part = case_of(capture).window(*run.window(capture.text("window-timehist")))
    theirs = [each for each in runs(capture) if not each.is_first]
    assert sum(each.is_cut for each in theirs) >= 2, "the window cuts nothing"
    ours = Counter((time, cpu, tid, delay, ran) for time, cpu, tid, _, delay, ran in part.rows(SWITCHES))
    ours += Counter((time, cpu, None, 0, ran) for time, cpu, _, ran in part.rows(IDLE))
    assert_same(ours, Counter((each.time_us, each.cpu, each.tid, each.delay_us, each.run_us) for each in theirs))


@each_with("window-summary")
def test_each_threads_time_on_the_cpus(capture: Capture, case_of) -> None:
    """All threads but those that are reaped in the window, or are first seen in it: perf has other times of these."""
    part = case_of(capture).window(*run.window(capture.text("window-summary")))
    other = {each.tid for each in runs(capture) if each.is_reaped or each.is_first}
    theirs = Counter(
        (row.task.tid, row.switch_count, row.total_us, row.min_us, row.max_us)
        for row in timehist.summary(capture.text("window-summary"))
        if row.task.tid not in {*other, -1}
    )
    ours = Counter(
        row
        for row in part.rows("""
            SELECT tid, sum(switch_count), sum(on_cpu_ns) // 1000, min(run_min_ns) // 1000, max(run_max_ns) // 1000
            FROM thread_time WHERE switch_count > 0 GROUP BY utid, tid
        """)
        if row[0] not in other
    )
    assert len(theirs) > 3
    assert_same(ours, theirs)


@each_with("window-summary")
def test_idle_time_of_each_cpu(capture: Capture, case_of) -> None:
    text = capture.text("window-summary")
    part = case_of(capture).window(*run.window(text))
    ours = dict(
        part.rows(
            "SELECT cpu, sum(duration_ns)::BIGINT // 1000 FROM thread_state WHERE state = 'idle' AND NOT is_open GROUP BY 1"
        )
    )
    assert ours == timehist.idle_us(text)


@each_with("window-report")
def test_samples_of_each_function(capture: Capture, case_of) -> None:
    text = capture.text("window-report")
    whole = case_of(capture)
    part = whole.window(*run.window(text))
    places = Places(perf_script.mappings(capture.text("mmaps")))
    theirs: Counter[tuple] = Counter()
    for section in perf_report.sections(text):
        for row in section.rows:
            dso = places.kernel_if_unknown(row.dso, row.address)
            theirs[section.event, dso, places.in_memory(row.dso, row.address), row.sample_count, row.period] += 1
    ours = Counter(
        (*key, row.self_count, row.self_period) for key, row in function_profile(part).items() if row.self_count
    )
    assert_same(ours, theirs)
    counted = part.value("SELECT count(*) FROM sample")
    assert 0 < counted < whole.value("SELECT count(*) FROM sample")
    assert sum(row[3] for row in theirs.elements()) == counted
