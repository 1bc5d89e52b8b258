"""block_io against the texts of `perf script` and `trace-cmd report`: requests are paired again here, from the text.

The pairing here is the simple one that eBPF tools use: an issue is remembered by device and first sector, a completion at the
same place ends it. Whole result sets: every issue and every completion, to the nanosecond.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from tests.oracles.captures import Capture, each_with
from tests.oracles.compare import assert_same
from tests.oracles.tools import trace_cmd

LINE = re.compile(
    r"^\s*(?P<s>\d+)\.(?P<ns>\d{9}):\s+block:(?P<event>\w+): (?P<device>\d+,\d+) (?P<rwbs>\w+) (?:(?P<bytes>\d+) )?\(.*\)"
    r" (?P<sector>\d+) \+ (?P<request_count>\d+)(?: \S+)* \[(?P<last>.*)\]$"
)
NO_PLACE = 2**64 - 1


class Event(NamedTuple):
    """An event of a request."""

    time_ns: int
    name: str
    device: str
    rwbs: str
    sector: int
    sectors: int
    bytes: int | None
    error: int | None


def of_perf(text: str) -> Iterator[Event]:
    for line in text.splitlines():
        found = LINE.match(line)
        assert found is not None, f"not a block event: {line!r}"
        is_end = found["event"] == "block_rq_complete"
        yield Event(
            int(found["s"]) * 1_000_000_000 + int(found["ns"]),
            found["event"],
            found["device"],
            found["rwbs"],
            int(found["sector"]),
            int(found["request_count"]),
            None if is_end else int(found["bytes"]),
            int(found["last"]) if is_end else None,
        )


def of_trace_cmd(text: str) -> Iterator[Event]:
    for event in trace_cmd.events(text):
        if event.name not in ("block_rq_insert", "block_rq_issue", "block_rq_complete"):
            continue
        value = {name: trace_cmd.number(name, cell) for name, cell in event.fields.items() if cell[:1].isdigit()}
        device = value["dev"]
        yield Event(
            event.time_ns,
            event.name,
            f"{device >> 20},{device & 0xFFFFF}",
            event.fields["rwbs"],
            value["sector"],
            value["nr_sector"],
            value.get("bytes"),
            value.get("error"),
        )


def paired(events: Iterator[Event]) -> Counter:
    """(issued, completed, device, flags, sector, bytes, error) of each request."""
    pending: dict[tuple, list[Event]] = {}
    rows: Counter = Counter()

    def row(issue: Event | None, done: Event | None) -> tuple:
        event = issue or done
        assert event is not None
        sector = None if place(event)[1] == NO_PLACE else event.sector
        size = event.sectors * 512 if event.bytes is None else event.bytes
        times = (issue and issue.time_ns, done and done.time_ns)
        return (*times, event.device, event.rwbs, sector, size, done and done.error)

    for event in sorted(events, key=lambda e: e.time_ns):
        if event.name == "block_rq_issue":
            pending.setdefault(place(event), []).append(event)
        elif event.name == "block_rq_complete":
            open_ones = pending.get(place(event), [])
            # The end of a write with flushes, after its data: 0 sectors at a place on the device.
            is_own = bool(open_ones) and (place(event)[1] == NO_PLACE or event.sectors > 0)
            issue = open_ones.pop() if is_own else None
            if issue is not None:
                assert issue.sectors in (event.sectors, 0), "completed in parts: this simple pairing cannot tell"
            rows[row(issue, event)] += 1
    for issue in (issue for left in pending.values() for issue in left):
        rows[row(issue, None)] += 1
    return rows


def place(event: Event) -> tuple[str, int]:
    nowhere = event.sector == NO_PLACE or (event.sector == 0 and event.sectors == 0)
    return event.device, NO_PLACE if nowhere else event.sector


OURS = """
SELECT b.issued_ts_ns + c.start_clock_ns, b.completed_ts_ns + c.start_clock_ns, b.device, b.rwbs, b.sector, b.size_bytes,
    CASE WHEN b.completed_ts_ns IS NOT NULL THEN b.error END
FROM block_io AS b CROSS JOIN capture AS c
WHERE b.issued_ts_ns IS NOT NULL OR b.completed_ts_ns IS NOT NULL
"""


def events_of(capture: Capture) -> Iterator[Event]:
    return of_perf(capture.text("block")) if capture.has("block") else of_trace_cmd(capture.text("trace-cmd"))


@each_with("block", "trace-cmd")
def test_every_request(capture: Capture, case_of) -> None:
    theirs = paired(events_of(capture))
    assert theirs
    assert_same(Counter(case_of(capture).rows(OURS)), theirs, "requests")


@each_with("block", "trace-cmd")
def test_every_bucket(capture: Capture, case_of) -> None:
    """block_latency and block_size, as biolatency and bitesize count: powers of two of µs, and of bytes."""
    requests = [row for row in paired(events_of(capture)).elements() if row[0] is not None]
    latencies = Counter()
    for issued, completed, device, *_ in requests:
        if completed is not None:
            us = (completed - issued) // 1000
            latencies[device, 0 if us < 2 else 1000 << (us.bit_length() - 1)] += 1
    ours = case_of(capture).rows("SELECT device, bucket_min_ns, sum(request_count) FROM block_latency GROUP BY ALL")
    assert {row[:2]: row[2] for row in ours} == latencies
    sizes = Counter((1 << (row[5].bit_length() - 1)) if row[5] else 0 for row in requests)
    ours = case_of(capture).rows("SELECT bucket_min_bytes, sum(request_count) FROM block_size GROUP BY ALL")
    assert dict(ours) == sizes
