"""pmc_interval, every row, against a naive reading of what perf stat wrote: the layout of each file is told to it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import pytest

from perfcase.case import store

DATA = Path(__file__).parents[1] / "data" / "perf_stat"
STATUS = {"<not counted>": "not_counted", "<not supported>": "not_supported"}

# The fields of a line, as perf-stat(1) gives them for these options.
CSV = {
    "all.csv": "time count unit event running percent",
    "cpu.csv": "time cpu count unit event running percent",
    "cpu-hardware.csv": "time cpu count unit event running percent",
    "core.csv": "time aggregate cpu_count count unit event running percent",
    "socket.csv": "time aggregate cpu_count count unit event running percent",
    "node.csv": "time aggregate cpu_count count unit event running percent",
    "die.csv": "time aggregate cpu_count count unit event running percent",
    "repeat.csv": "count unit event deviation running percent",
    "cgroup.csv": "time count unit event cgroup running percent",
    "summary.csv": "time count unit event running percent",
    "thread.csv": "aggregate count unit event running percent",
    "thread-intervals.csv": "time aggregate count unit event running percent",
}
JSON = [
    "all.json",
    "all-hardware.json",
    "cpu.json",
    "core.json",
    "repeat.json",
    "cgroup.json",
    "summary.json",
    "thread.json",
]
JSON_KEYS = {
    "interval": "time", "cpu": "cpu", "core": "aggregate", "thread": "aggregate", "aggregate-number": "cpu_count", "counter-value": "count",
    "unit": "unit", "event": "event", "cgroup": "cgroup", "event-runtime": "running", "pcnt-running": "percent",
}  # fmt: skip


def read_csv(path: Path) -> list[dict[str, str]]:
    names = CSV[path.name].split()
    separator = ";" if path.name == "socket.csv" else ","
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    lines = [line for line in lines if not line.strip().startswith("summary")]
    return [dict(zip(names, map(str.strip, line.split(separator)), strict=False)) for line in lines]


def read_json(path: Path) -> list[dict[str, str]]:
    objects = [json.loads(line) for line in path.read_text().splitlines() if line.startswith("{")]
    if path.name == "summary.json":
        objects = objects[:-1]
    return [{JSON_KEYS[key]: str(value) for key, value in o.items() if key in JSON_KEYS} for o in objects]


def wanted(readings: list[dict[str, str]]) -> list[tuple]:
    """The rows that pmc_interval must have, in the order of the file."""
    rows, ends = [], [0]
    for reading in readings:
        # 9 digits after the point: nothing is rounded.
        end = round(float(reading["time"]) * 1e9) if "time" in reading else None
        if end is not None and end != ends[-1]:
            ends.append(end)
        counted = reading["count"] not in STATUS
        running = int(reading["running"])
        rows.append((
            end or 0,
            None if end is None else ends[-1] - ends[-2],
            int(reading["cpu"].removeprefix("CPU")) if "cpu" in reading else None,
            reading.get("aggregate"),
            int(reading["cpu_count"]) if "cpu_count" in reading else None,
            reading.get("cgroup"),
            reading["event"],
            reading["unit"] or None,
            float(reading["count"]) if counted else None,
            STATUS.get(reading["count"], "counted"),
            running,
            # perf prints 100 % for what was never enabled.
            float(reading["percent"]) / 100 if running else None,
        ))  # fmt: skip
    return rows


@pytest.mark.parametrize("name", [*CSV, *JSON])
def test_every_line_is_a_row(name: str, tmp_path: Path) -> None:
    readings = read_csv(DATA / name) if name in CSV else read_json(DATA / name)
    assert len(readings) >= 2
    case = store.open_case(DATA / name, tmp_path / "x.case")
    with duckdb.connect(str(case.folder / "case.duckdb"), read_only=True) as connection:
        rows = connection.execute(
            "SELECT ts_ns + coalesce(interval_ns, 0), interval_ns, cpu, aggregate, cpu_count, cgroup, event, unit, count, status, running_ns,"
            " running_ratio FROM pmc_interval"
        ).fetchall()
        troubles = connection.execute("SELECT * FROM import_issue WHERE severity <> 'info'").fetchall()
    assert sorted(rows, key=repr) == sorted(wanted(readings), key=repr)
    assert troubles == []


# A line for people has: what it was counted on, count, unit, event, and the share of time in parentheses at its end.
TEXT_LINE = re.compile(
    r"^ *(?:(?P<time>\d+\.\d{9}) +)?(?:(?P<aggregate>\S.*-\d+) +)?(?P<count>[\d,.]+|<not \w+>) +(?:(?P<unit>msec|ns) )? *"
    r"(?P<event>[a-z-]+)(?: +#.*?)?(?: +\( \+-.*\))?(?: +\((?P<percent>[\d.]+)%\))? *$"
)


@pytest.mark.parametrize("name", ["total.txt", "total-hardware.txt", "intervals.txt", "thread.txt", "repeat.txt"])
def test_what_people_read(name: str, tmp_path: Path) -> None:
    """Every line with a count, and how long the run took as the length of its totals."""
    text = (DATA / name).read_text()
    elapsed = re.search(r"^ +(\d+\.\d+) .*seconds time elapsed", text, re.MULTILINE)
    end_ns = round(float(elapsed[1]) * 1e9) if elapsed else None
    wanted, times = [], [0]
    for line in text.splitlines():
        found = TEXT_LINE.match(line)
        if found is None:
            continue
        at = round(float(found["time"]) * 1e9) if found["time"] else end_ns
        if at != times[-1]:
            times.append(at)
        counted = not found["count"].startswith("<")
        wanted.append((
            at, at - times[-2], found["aggregate"], found["event"], found["unit"],
            float(found["count"].replace(",", "")) if counted else None,
            STATUS.get(found["count"], "counted"), 1.0 if counted else None,
        ))  # fmt: skip
    case = store.open_case(DATA / name, tmp_path / "x.case")
    with duckdb.connect(str(case.folder / "case.duckdb"), read_only=True) as connection:
        rows = connection.execute(
            "SELECT ts_ns + coalesce(interval_ns, 0), interval_ns, aggregate, event, unit, count, status, running_ratio FROM pmc_interval"
        ).fetchall()
        troubles = connection.execute("SELECT * FROM import_issue WHERE severity <> 'info'").fetchall()
    assert len(wanted) >= 2
    assert sorted(rows, key=repr) == sorted(wanted, key=repr)
    assert troubles == []
