"""perfcase history over twelve recordings of eight hosts: node-3 writes a third as often, node-6 since its second capture."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from tests.support.cli import perfcase, succeed

DATA = Path(__file__).parents[1] / "data"


def rows(store: Path, *options: str) -> list[dict]:
    return json.loads(succeed("history", store, *options, "--format", "json"))


@pytest.fixture(scope="module")
def recorded_fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve recordings of eight hosts, imported."""
    root = tmp_path_factory.mktemp("fleet")
    with tarfile.open(DATA / "fleet" / "fleet.tar.xz") as archive:
        archive.extractall(root, filter="data")
    done = perfcase("history", root)
    assert (done.returncode, done.stderr) == (0, "")
    return root


def test_recorded_hosts_in_two_bands(recorded_fleet: Path) -> None:
    calls = ("--view", "syscall_summary", "-m", "call_count", "-w", "comm = 'dd' AND name = 'write'", "--agg", "max")
    found = rows(recorded_fleet, *calls, "--bands", "--by", "host")
    # 3 more than dd was told to copy: the lines of its summary.
    assert {row["capture"]: row["value"] for row in found} == {
        "node-1.a": 1213, "node-1.b": 1202, "node-2.a": 1183, "node-3.a": 405, "node-3.b": 399, "node-4.a": 1254,
        "node-5.a": 1193, "node-6.a": 1228, "node-6.b": 414, "node-7.a": 1207, "node-7.b": 1235, "node-8.a": 1171,
    }  # fmt: skip
    started = {row["capture"]: row["recorded_at"] for row in found}
    assert {(row["capture"], row["band_since"]) for row in found if row["band"] == "low"} == {
        ("node-3.a", started["node-3.a"]), ("node-3.b", started["node-3.a"]), ("node-6.b", started["node-6.b"]),
    }  # fmt: skip
    assert all(row["problem"] is None for row in found)
    shown = succeed("history", recorded_fleet, *calls, "--bands").splitlines()[:3]
    assert "\n".join(shown) in (DATA.parents[1] / "docs" / "manual" / "history.md").read_text(encoding="utf-8")


def test_what_took_milliseconds_has_no_bands_per_second(recorded_fleet: Path) -> None:
    """Each dd ran for 4 to 62 ms: its calls are in two bands, and its calls per second of that in none."""
    found = rows(recorded_fleet, "--bands", "--view", "syscall_summary")
    assert [
        row["key"]
        for row in found
        if row["key"] and row["key"].startswith("comm dd") and row["measure"] == "call_count"
    ] == []


def test_amounts_are_per_second_of_what_was_recorded(recorded_fleet: Path) -> None:
    sides = [recorded_fleet / name for name in ("node-1.a", "node-6.b")]
    told = succeed("diff", *sides, "--view", "syscall_summary", "--format", "json", "--limit", "0")
    (line,) = [
        row
        for row in json.loads(told)["differences"]
        if (row["key"], row["measure"]) == ("comm dd, name write", "call_count")
    ]
    for side, total, per in zip(sides, (line["a"], line["b"]), (line["a_per"], line["b_per"]), strict=True):
        span = json.loads(succeed(
            "sql", side, "--format", "json", "SELECT duration_ns FROM recorded_span WHERE table_name = 'syscall'"
        ))[0]["duration_ns"]  # fmt: skip
        assert 1e6 < span < 1e8
        assert per == pytest.approx(total / (span / 1e9))


def test_recorded_hosts_that_do_the_same(recorded_fleet: Path) -> None:
    # Every dd maps the same objects; how long it ran varies, without a gap.
    only = "host=node-[124578]"
    calls = ("--view", "syscall_summary", "-m", "call_count", "-w", "comm = 'dd' AND name = 'write'", "--agg", "max")
    assert "no bands" in succeed("history", recorded_fleet, *calls, "--bands", "--only", only)
