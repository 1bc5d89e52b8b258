"""irq_time against `perf kwork report`: every handler of every CPU.

perf prints milliseconds and seconds with three and six decimals: ours may differ by half a unit of the last place; it cuts the
beginning of the longest to whole microseconds.
"""

from __future__ import annotations

import re

from tests.oracles.captures import Capture, each_with

ROW = re.compile(
    r"^\s*(?P<soft>\(s\))?(?P<name>.+):(?P<number>\d+)\s+\|\s*(?P<cpu>\d+) \|\s*(?P<total>[\d.]+) ms \|\s*(?P<count>\d+) \|"
    r"\s*(?P<max>[\d.]+) ms \|\s*(?P<start>[\d.]+) s \|\s*(?P<end>[\d.]+) s \|$"
)
OURS = """
SELECT i.kind, i.name, i.number, i.cpu, i.count, i.total_ns / 1e6, i.max_ns / 1e6, i.max_ts_ns + c.start_clock_ns
FROM irq_time AS i CROSS JOIN capture AS c
WHERE i.count > 0
"""


def perf_rows(text: str) -> dict[tuple, tuple]:
    rows = {}
    for line in text.splitlines():
        found = ROW.match(line)
        if found is None:
            assert not line.strip() or line.startswith((" ---", "  Kwork Name")), f"not a row of perf kwork: {line!r}"
            continue
        key = ("softirq" if found["soft"] else "irq", found["name"], int(found["number"]), int(found["cpu"]))
        rows[key] = (int(found["count"]), float(found["total"]), float(found["max"]), found["start"])
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
