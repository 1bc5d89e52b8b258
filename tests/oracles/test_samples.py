"""Samples against `perf script`: every sample's time, CPU, thread, event and period, and every callchain."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import astuple

from tests.oracles.captures import Capture, each_with
from tests.oracles.compare import assert_same
from tests.oracles.tools import perf_script
from tests.oracles.tools.address import Places

SCRIPT = ("script", "script-no-cpu")


def script_samples(capture: Capture) -> Iterator[perf_script.Sample]:
    return perf_script.samples(capture.text("script" if capture.has("script") else "script-no-cpu"))


@each_with(*SCRIPT)
def test_every_sample(capture: Capture, case_of) -> None:
    case = case_of(capture)
    ours = Counter(
        case.rows("""
            SELECT s.ts_ns + c.start_clock_ns, s.cpu, coalesce(t.pid, -1), coalesce(t.tid, -1), e.name, s.period
            FROM capture AS c, sample AS s
            JOIN perf_event AS e USING (event_id)
            LEFT JOIN thread AS t USING (utid)
        """)
    )
    with_cpu = capture.has("script")
    if not with_cpu:
        assert not any(cpu is not None for _, cpu, *_ in ours), "perf knows no CPU for this capture"
    # A thread that is being reaped has the tid -1 in the record: ours is NULL, and so is its process.
    theirs = Counter(
        (s.time_ns, s.cpu, -1 if s.tid == -1 else s.pid, s.tid, s.event, s.period) for s in script_samples(capture)
    )
    assert_same(ours, theirs)


@each_with(*SCRIPT)
def test_counts_of_each_event(capture: Capture, case_of) -> None:
    case = case_of(capture)
    theirs = Counter(s.event for s in script_samples(capture))
    assert dict(case.rows("SELECT name, sample_count FROM perf_event WHERE sample_count > 0")) == theirs


def named(comm: str | None) -> str | None:
    """A kernel worker without what it works on, which /proc adds to its name and events do not; perf goes by /proc."""
    return comm and re.sub(r"^(kworker/[^-+]+)[-+].*", r"\1", comm)


@each_with(*SCRIPT)
def test_names_of_the_threads(capture: Capture, case_of) -> None:
    """A sample has the name that perf prints for it: the thread's name at that moment."""
    rows = case_of(capture).rows("""
        SELECT s.ts_ns + c.start_clock_ns, t.tid, n.comm
        FROM capture AS c, sample AS s
        JOIN thread AS t USING (utid)
        LEFT JOIN thread_name AS n USING (name_id)
    """)
    ours = Counter((ts_ns, tid, named(comm)) for ts_ns, tid, comm in rows)
    theirs = Counter((s.time_ns, s.tid, named(s.comm)) for s in script_samples(capture) if s.tid != -1)
    assert_same(ours, theirs)


@each_with("script")
def test_every_callchain(capture: Capture, case_of) -> None:
    case = case_of(capture)
    places = Places(perf_script.mappings(capture.text("mmaps")))
    ours = Counter(
        (ts_ns, event, tuple(zip(addresses, dsos, strict=True)))
        for ts_ns, event, addresses, dsos in case.rows("""
            WITH chain AS (
                SELECT e.stack_id,
                    list(f.address ORDER BY e.position) AS addresses,
                    list(coalesce(d.name, '[unknown]') ORDER BY e.position) AS dsos
                FROM stack_entry AS e JOIN frame AS f USING (frame_id) LEFT JOIN dso AS d USING (dso_id)
                GROUP BY e.stack_id
            )
            SELECT s.ts_ns + c.start_clock_ns, e.name, coalesce(n.addresses, [f.address]),
                coalesce(n.dsos, [coalesce(d.name, '[unknown]')])
            FROM capture AS c, sample AS s
            JOIN perf_event AS e USING (event_id)
            LEFT JOIN chain AS n USING (stack_id)
            LEFT JOIN frame AS f ON f.frame_id = s.frame_id
            LEFT JOIN dso AS d ON d.dso_id = f.dso_id
        """)
    )
    theirs = Counter((s.time_ns, s.event, tuple(map(astuple, places.frames(s)))) for s in script_samples(capture))
    assert_same(ours, theirs)
