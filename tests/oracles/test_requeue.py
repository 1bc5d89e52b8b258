"""Requests that a busy device turned down, and that merged while they waited, against `trace-cmd report`: each is one row."""

from __future__ import annotations

from collections import Counter

from tests.oracles.captures import Recorded, recorded_with
from tests.oracles.compare import assert_same
from tests.oracles.tools import trace_cmd

SDA = 8 << 20


def captured(name: str) -> Recorded:
    """The capture of that name."""
    return next(capture for capture in recorded_with("trace-requeues") if capture.name == name)


def test_requeued_requests(case_of) -> None:
    """One process reads one block after the other: at every place there is one request."""
    capture = captured("block-requeue")
    found: dict[tuple[int, int], dict[str, list[int]]] = {}
    for event in trace_cmd.events(capture.text("trace-requeues")):
        number = {key: trace_cmd.number(key, event.fields[key]) for key in ("dev", "sector", "nr_sector")}
        if number["dev"] == SDA and event.fields["rwbs"].startswith("R"):
            place = found.setdefault((number["sector"], number["nr_sector"]), {})
            place.setdefault(event.name, []).append(event.time_ns)
    theirs = Counter(
        (sector, count * 512, *times["block_rq_insert"], times["block_rq_issue"][-1], *times["block_rq_complete"],
         len(times.get("block_rq_requeue", [])))
        for (sector, count), times in found.items()
    )  # fmt: skip
    assert len(theirs) == 24
    assert sum(row[-1] for row in theirs) == 56
    ours = case_of(capture).rows("""
        SELECT b.sector, b.size_bytes, b.queued_ts_ns + c.start_clock_ns, b.issued_ts_ns + c.start_clock_ns,
            b.completed_ts_ns + c.start_clock_ns, b.requeue_count
        FROM block_io AS b CROSS JOIN capture AS c WHERE b.device = '8,0' AND b.operation = 'read'
    """)
    assert_same(Counter(ours), theirs, "requests")


def test_merged_requests(case_of) -> None:
    """The third of three neighbours goes to the end of the first, which then takes in the second: one request."""
    capture = captured("block-merge")
    events = [
        (event.name, event.time_ns, *(trace_cmd.number(key, event.fields[key]) for key in ("sector", "nr_sector")))
        for event in trace_cmd.events(capture.text("trace-requeues"))
        if trace_cmd.number("dev", event.fields["dev"]) == SDA
    ]
    times = {(name, sector): time_ns for name, time_ns, sector, _ in events}
    assert [(name, sector, count) for name, _, sector, count in events if name == "block_rq_merge"] == [
        ("block_rq_merge", 816, 8)
    ]
    issued = {sector: count for name, _, sector, count in events if name == "block_rq_issue"}
    assert issued == {8000: 8, 16000: 8, 800: 24}
    theirs = {
        (sector, count * 512, *(times[f"block_rq_{step}", sector] for step in ("insert", "issue", "complete")),
         int(sector == 800))
        for sector, count in issued.items()
    }  # fmt: skip
    ours = case_of(capture).rows("""
        SELECT b.sector, b.size_bytes, b.queued_ts_ns + c.start_clock_ns, b.issued_ts_ns + c.start_clock_ns,
            b.completed_ts_ns + c.start_clock_ns, b.merge_count
        FROM block_io AS b CROSS JOIN capture AS c WHERE b.device = '8,0'
    """)
    assert_same(Counter(ours), Counter(theirs), "requests")
