"""lock_wait and lock_wait_event against `perf lock contention -i`: every row, by callchain and by thread.

perf prints each time with a unit and two decimals, so ours may differ by half a unit of the last place. By callchain, perf
merges waits whose callchains are the same set of addresses after the first three frames (the tracepoint and the lock's own
functions; CONTENTION_STACK_SKIP), so ours are merged in the same way here. Without the kernel's symbols it skips no others.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from tests.oracles.captures import Capture, each_with

SKIP = 3
UNIT_NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
TIME = r"\s+([\d.]+) (ns|us|ms|s)"
ROW = re.compile(rf"^\s*(\d+){TIME * 4}\s+(\S+)")

BY_STACK = f"""
SELECT count(*), sum(duration_ns)::BIGINT, max(duration_ns), min(duration_ns), avg(duration_ns), any_value(lock_type)
FROM (
  SELECT w.*, list_sort(f.frame_ids[{SKIP + 1}:]) AS frames
  FROM lock_wait_event AS w LEFT JOIN stack_frames AS f USING (stack_id)
  WHERE w.kind = 'kernel' AND w.result IN ('acquired', 'failed')
)
GROUP BY frames
"""
BY_THREAD = """
SELECT count(*), sum(w.duration_ns)::BIGINT, max(w.duration_ns), min(w.duration_ns), avg(w.duration_ns), t.tid
FROM lock_wait_event AS w JOIN thread AS t USING (utid)
WHERE w.kind = 'kernel' AND w.result IN ('acquired', 'failed')
GROUP BY t.tid
"""


@dataclass(frozen=True)
class Time:
    """A time as perf prints it."""

    number: str
    unit: str

    @property
    def ns(self) -> float:
        return float(self.number) * UNIT_NS[self.unit]

    @property
    def tolerance_ns(self) -> float:
        """Half a unit of the last place."""
        decimals = len(self.number.partition(".")[2])
        return UNIT_NS[self.unit] * 10.0**-decimals / 2 + 1e-6


def perf_rows(text: str) -> list[tuple[int, list[Time], str]]:
    rows = []
    for line in text.splitlines():
        found = ROW.match(line)
        if found:
            count, *times, key = found.groups()
            rows.append((int(count), [Time(*pair) for pair in zip(times[::2], times[1::2], strict=True)], key))
        else:
            assert not line.strip() or line.split()[0] == "contended", f"not a row of perf lock contention: {line!r}"
    assert rows
    return rows


def compare(ours: list[tuple], theirs: list[tuple[int, list[Time], str]]) -> None:
    """Each of perf's rows is one of ours, and none of ours is left."""
    left = list(ours)
    for count, times, key in theirs:
        matches = [row for row in left if (row[0], str(row[5])) == (count, key) and same(row[1:5], times)]
        assert matches, f"perf has {count} {key} {times}; of ours are left {left[:5]}"
        left.remove(matches[0])
    assert left == []


def same(ours: tuple, theirs: list[Time]) -> bool:
    # The average is cut to whole nanoseconds before it is printed.
    return all(
        abs(a - b.ns) <= b.tolerance_ns + (1 if n == 3 else 0)
        for n, (a, b) in enumerate(zip(ours, theirs, strict=True))
    )


@each_with("lock-contention")
def test_every_callchain(capture: Capture, case_of) -> None:
    compare(case_of(capture).rows(BY_STACK), perf_rows(capture.text("lock-contention")))


@each_with("lock-contention-threads")
def test_every_thread(capture: Capture, case_of) -> None:
    compare(case_of(capture).rows(BY_THREAD), perf_rows(capture.text("lock-contention-threads")))


@each_with("lock-contention")
def test_the_view_adds_up_its_events(capture: Capture, case_of) -> None:
    case = case_of(capture)
    ours = case.rows(
        "SELECT lock_address, sum(wait_count), sum(wait_total_ns), max(wait_max_ns), sum(open_count) FROM lock_wait GROUP BY 1"
    )
    events = case.rows("""
        SELECT lock_address, count(*) FILTER (result <> 'open'), sum(duration_ns) FILTER (result <> 'open'),
            max(duration_ns) FILTER (result <> 'open'), count(*) FILTER (result = 'open')
        FROM lock_wait_event GROUP BY 1
    """)
    assert Counter(ours) == Counter(events)
    assert ours
