"""What a waker's CPU did, against the flags of `trace-cmd report -l`: whether the waker itself woke, or an interrupt that came while it ran."""

from __future__ import annotations

import re

from tests.oracles.captures import Capture, each_with

LINE = re.compile(
    r"-(?P<waker>\d+)\s+\d(?P<flags>\S{5})\s+(?P<s>\d+)\.(?P<ns>\d{9}): sched_wak\w+:\s.*?(?: pid=|\w:)(?P<tid>\d+) (?:prio=|\[)"
)
CONTEXTS = {".": "task", "s": "softirq", "h": "hardirq", "H": "hardirq"}
"""By the third flag (Documentation/trace/ftrace.rst, hardirq/softirq)."""


@each_with("trace-wakes")
def test_an_interrupt_is_told_from_the_thread_that_it_hit(capture: Capture, case_of) -> None:
    lines = capture.text("trace-wakes").splitlines()
    found = [LINE.search(line) for line in lines]
    assert None not in found
    theirs = {
        (int(each["s"]) * 10**9 + int(each["ns"]), int(each["tid"])): (int(each["waker"]), CONTEXTS[each["flags"][2]])
        for each in found
        if each
    }
    ours = case_of(capture).rows("""
        SELECT s.ts_ns + s.duration_ns + c.start_clock_ns, t.tid, w.tid, s.waker_context
        FROM thread_state AS s
        JOIN thread AS t USING (utid)
        JOIN thread AS w ON w.utid = s.waker_utid
        CROSS JOIN capture AS c
        WHERE s.state NOT IN ('running', 'idle', 'runnable', 'runnable_preempted')
    """)
    assert len(ours) > 2
    assert {(time_ns, tid): (waker, context) for time_ns, tid, waker, context in ours}.items() <= theirs.items()
    assert {context for *_, context in ours} > {"softirq"}
