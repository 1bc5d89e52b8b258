"""irq_time against `perf kwork report` and against `trace-cmd report`: every handler of every CPU.

perf prints milliseconds and seconds with three and six decimals: ours may differ by half a unit of the last place; it cuts the
beginning of the longest to whole microseconds. From the text of trace-cmd the handlers are paired again here, to the nanosecond.
"""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from tests.oracles.captures import Capture, Recorded, each_with, recorded_with
from tests.oracles.tools import trace_cmd

ROW = re.compile(
    r"^\s*(?P<soft>\(s\))?(?P<name>.+):(?P<number>\d+)\s+\|\s*(?P<cpu>\d+) \|\s*(?P<total>[\d.]+) ms \|\s*(?P<handler_count>\d+) \|"
    r"\s*(?P<max>[\d.]+) ms \|\s*(?P<start>[\d.]+) s \|\s*(?P<end>[\d.]+) s \|$"
)
OURS = """
SELECT i.kind, i.name, i.number, i.cpu, i.handler_count, i.duration_total_ns / 1e6, i.duration_max_ns / 1e6, i.duration_max_ts_ns + c.start_clock_ns
FROM irq_time AS i CROSS JOIN capture AS c
WHERE i.handler_count > 0
"""


def perf_rows(text: str) -> dict[tuple, tuple]:
    rows = {}
    for line in text.splitlines():
        found = ROW.match(line)
        if found is None:
            assert not line.strip() or line.startswith((" ---", "  Kwork Name")), f"not a row of perf kwork: {line!r}"
            continue
        key = ("softirq" if found["soft"] else "irq", found["name"], int(found["number"]), int(found["cpu"]))
        rows[key] = (int(found["handler_count"]), float(found["total"]), float(found["max"]), found["start"])
    assert rows
    return rows


@each_with("kwork")
def test_every_handler(capture: Capture, case_of) -> None:
    theirs = perf_rows(capture.text("kwork"))
    ours = {tuple(row[:4]): row[4:] for row in case_of(capture).rows(OURS)}
    assert ours.keys() == theirs.keys()
    for key, (count, total_ms, max_ms, start_s) in theirs.items():
        assert ours[key][0] == count, key
        assert abs(ours[key][1] - total_ms) <= 0.0005 + 1e-9, key
        assert abs(ours[key][2] - max_ms) <= 0.0005 + 1e-9, key
        assert ours[key][3] // 1000 == int(start_s.replace(".", "")), key


RECORDED_IRQ = [c for c in recorded_with("trace-cmd") if " softirq_entry: " in c.text("trace-cmd")]


@pytest.mark.parametrize("capture", RECORDED_IRQ, ids=lambda capture: capture.id)
def test_every_handler_of_the_report(capture: Recorded, case_of) -> None:
    begun: dict[tuple, int] = {}
    durations: dict[tuple, list[int]] = defaultdict(list)
    open_count: dict[tuple, int] = defaultdict(int)
    for event in trace_cmd.events(capture.text("trace-cmd")):
        kind, _, edge = event.name.rpartition("_")
        if edge not in ("entry", "exit") or kind not in ("softirq", "irq_handler"):
            continue
        number = trace_cmd.number("irq", event.fields["vec" if kind == "softirq" else "irq"])
        key = ("softirq" if kind == "softirq" else "irq", number, event.cpu)
        start = begun.pop(key, None)
        if edge == "entry":
            open_count[key] += start is not None
            begun[key] = event.time_ns
        elif start is None:
            open_count[key] += 1
        else:
            durations[key].append(event.time_ns - start)
    for key in begun:
        open_count[key] += 1
    theirs = {
        key: (len(d), sum(d), max(d, default=None), open_count[key])
        for key in durations.keys() | {k for k, n in open_count.items() if n}
        for d in [durations[key]]
    }
    ours = case_of(capture).rows(
        "SELECT kind, number, cpu, handler_count, duration_total_ns, duration_max_ns, open_count FROM irq_time"
    )
    assert {row[:3]: row[3:] for row in ours} == theirs
    assert theirs
