"""Requests that a busy device turned down, against `trace-cmd report`: each is one row, however often it was taken back."""

from __future__ import annotations

from collections import Counter

from tests.oracles.captures import recorded_with
from tests.oracles.compare import assert_same
from tests.oracles.tools import trace_cmd

SDA = 8 << 20


def test_requeued_requests(case_of) -> None:
    """One process reads one block after the other: at every place there is one request."""
    (capture,) = recorded_with("trace-requeues")
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
