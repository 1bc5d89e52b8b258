"""perfcase history: one figure over many captures, made by hand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from perfcase.fleet import captures
from tests.support.cli import fail, succeed
from tests.support.fakecase import make_case, put

HOUR_NS = 3600 * 10**9
START_NS = 1_767_571_200 * 10**9  # 2026-01-05 00:00:00 UTC
MACHINES = [("node-1", 0, 1.80), ("node-2", 0, 0.62), ("node-3", 0, 1.75), ("node-4", 0, 1.91),
            ("node-1", 1, 1.77), ("node-2", 1, 0.66), ("node-3", 1, 0.64), ("node-4", 1, 1.88)]  # fmt: skip
"""Host, hour, cycles per instruction: node-2 is always fast, node-3 since its second capture."""


def described(host: str, hour: int, **more: object) -> dict[str, object]:
    return {
        "capture_id": f"{host} {hour}", "hostname": host, "start_realtime_ns": START_NS + hour * HOUR_NS,
        "duration_ns": 2 * 10**9, "ticket": f"OPS-{hour}", "note": f"hour={hour} test", "labels": f"hour={hour},test", "cpu_count": 4, **more,
    }  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight captures with counters and a thread that runs 1 s of the 2 s in the first hour, 0.5 s in the second."""
    root = tmp_path_factory.mktemp("store")
    blank = make_case(root / "blank", {})
    for host, hour, cpi in MACHINES:
        case = root / host / f"{hour}.case"
        shutil.copytree(blank, case)
        put(case, "capture", [described(host, hour)])
        counts = {"cycles": round(cpi * 1000), "instructions": 1000}
        put(case, "pmc_interval", [
            {"source_id": 1, "ts_ns": 10**9, "event": event, "count": count, "running_ratio": 1.0}
            for event, count in counts.items()
        ])  # fmt: skip
        put(case, "thread", [{"utid": 1, "tid": 7, "comm": "java"}])
        put(
            case,
            "thread_state",
            [{"utid": 1, "ts_ns": 0, "duration_ns": 10**9 // (hour + 1), "state": "running", "is_open": False}],
        )
        put(case, "source", [{"source_id": 0, "name": "ftrace", "is_timeline": True}])
    shutil.rmtree(blank)
    return root


def rows(store: Path, *options: str) -> list[dict]:
    return json.loads(succeed("history", store, *options, "--format", "json"))


def test_the_captures_in_the_order_of_time(store: Path) -> None:
    listed = rows(store)
    assert [(row["host"], row["recorded_at"]) for row in listed[3:5]] == [
        ("node-4", "2026-01-05 00:00:00"),
        ("node-1", "2026-01-05 01:00:00"),
    ]
    assert listed[0] == {
        "recorded_at": "2026-01-05 00:00:00", "host": "node-1", "ticket": "OPS-0", "note": "hour=0 test", "labels": "hour=0, test",
        "capture": "node-1/0.case", "duration_ns": 2 * 10**9, "kernel": None, "cpu_count": 4, "cpu_model": None, "problem": None,
    }  # fmt: skip


def test_a_level_and_an_amount(store: Path) -> None:
    cpi = rows(store, "--view", "pmcarch", "-m", "cpi")
    assert [(row["host"], row["row_count"], row["value"]) for row in cpi] == [
        (host, 1, value) for host, _, value in MACHINES
    ]
    assert "value_per_s" not in cpi[0]
    on_cpu = rows(store, "--view", "thread_time", "-m", "on_cpu_ns", "-w", "comm = 'java'")
    assert {(row["value"], row["value_per_s"]) for row in on_cpu[:4]} == {(1e9, 0.5e9)}
    assert {(row["value"], row["value_per_s"]) for row in on_cpu[4:]} == {(0.5e9, 0.25e9)}
    # Threads are no events: there are no more of them in a longer recording.
    threads = rows(store, "--view", "thread_time", "--agg", "count", "--only", "host=node-1")
    assert [(row["value"], "value_per_s" in row) for row in threads] == [(1, False), (1, False)]
    # Nothing of a kind that was recorded is none of it; without a thread of that name there is no mean.
    assert rows(store, "--view", "thread_time", "-m", "on_cpu_ns", "-w", "comm = 'perl'")[0]["value"] == 0
    mean = rows(store, "--view", "thread_time", "-m", "on_cpu_ns", "-w", "comm = 'perl'", "--agg", "mean")[0]
    assert (mean["value"], mean["problem"]) == (None, "no rows match")


def test_no_finding_is_none(store: Path) -> None:
    found = rows(store, "--view", "finding", "--agg", "count", "--only", "host=node-1")
    assert [(row["value"], row["problem"]) for row in found] == [(0, None)] * 2


def test_the_order(store: Path) -> None:
    by_host = rows(store, "--view", "pmcarch", "-m", "cpi", "--by", "host")
    assert [row["capture"] for row in by_host[:4]] == [
        "node-1/0.case",
        "node-1/1.case",
        "node-2/0.case",
        "node-2/1.case",
    ]
    by_ticket = rows(store, "--by", "ticket", "--only", "host=node-2")
    assert [(row["ticket"], row["host"]) for row in by_ticket] == [("OPS-0", "node-2"), ("OPS-1", "node-2")]


def test_a_baseline(store: Path) -> None:
    found = rows(store, "--view", "pmcarch", "-m", "cpi", "--baseline", "before=2026-01-05T01:00")
    # 0.62 1.75 1.80 1.91: median 1.775; distances 1.155 0.025 0.025 0.135: median 0.08.
    assert {(round(row["baseline_median"], 9), round(row["baseline_mad"], 9)) for row in found} == {(1.775, 0.08)}
    assert [row["in_baseline"] for row in found] == [True] * 4 + [False] * 4
    assert [round(row["deviation"], 9) for row in found if row["host"] == "node-3"] == [-0.025, -1.135]
    assert [round(row["deviation_mads"], 6) for row in found if row["host"] == "node-3"] == [-0.3125, -14.1875]
    only = rows(store, "--view", "pmcarch", "-m", "cpi", "--baseline", "host=node-1", "--only", "host=node-4")
    assert [(row["host"], round(row["baseline_median"], 9)) for row in only] == [("node-4", 1.785)] * 2


def test_bands_say_who_and_since_when(store: Path) -> None:
    found = rows(store, "--view", "pmcarch", "-m", "cpi", "--bands")
    assert [(row["host"], row["band"], row["band_since"]) for row in found if row["host"] in ("node-2", "node-3")] == [
        ("node-2", "low", "2026-01-05 00:00:00"),
        ("node-3", "high", "2026-01-05 00:00:00"),
        ("node-2", "low", "2026-01-05 00:00:00"),
        ("node-3", "low", "2026-01-05 01:00:00"),
    ]
    told = succeed("history", store, "--view", "pmcarch", "-m", "cpi", "--bands").splitlines()
    assert told[1].startswith(
        "two bands: 3 of 8 low (median 0.64), 5 high (median 1.8, 2.81 times as much); the gap is "
    )
    assert told[2] == "  low: node-2 (since 2026-01-05 00:00:00), node-3 (since 2026-01-05 01:00:00)"
    few = succeed("history", store, "--view", "pmcarch", "-m", "cpi", "--bands", "--only", "host=node-1")
    assert "cannot be judged with 2 figures; 8 are needed" in few


def test_sparklines(store: Path) -> None:
    told = succeed(
        "history", store, "--view", "pmcarch", "-m", "cpi", "--by", "host", "--only", "host=node-[12]", "--plot"
    )
    # Sevenths of the largest, 1.80: 1.77 and 1.80 are 7, 0.62 and 0.66 are 2.4 and 2.6.
    assert [line.split()[-1] for line in told.splitlines()[-2:]] == ["██", "▃▄"]
    assert "█" not in succeed("history", store, "--view", "pmcarch", "-m", "cpi")


def test_what_is_no_question(store: Path) -> None:
    assert "needs a --measure (one of ts_ns, interval_ns, cycles" in fail(2, "history", store, "--view", "pmcarch")
    assert "pmcarch has no column speed" in fail(6, "history", store, "--view", "pmcarch", "-m", "speed")
    assert "there is no view pmcarhc (did you mean pmcarch" in fail(
        6, "history", store, "--view", "pmcarhc", "-m", "cpi"
    )
    assert "need a --view" in fail(2, "history", store, "--where", "true")
    assert "needs a figure" in fail(2, "history", store, "--baseline", "host=node-1")
    assert "nowhere" in fail(5, "history", store, "--view", "pmcarch", "-m", "cpi", "-w", "nowhere = 1")
    fail(5, "history", store, "--view", "pmcarch", "-m", "cpi", "-w", "true) FROM pmcarch; COPY (SELECT 1")
    assert "no capture matches" in fail(6, "history", store, "--only", "host=web")


def test_what_cannot_be_read_does_not_stop_the_rest(tmp_path: Path, store: Path) -> None:
    shutil.copytree(store / "node-1", tmp_path / "s" / "deep" / "er [1]*")
    (tmp_path / "s" / "broken.perfcase").write_bytes(b"no archive")
    (tmp_path / "s" / "notes.txt").write_text("no capture")
    (tmp_path / "s" / "link").symlink_to(store)
    shutil.copytree(store / "node-1" / "0.case", tmp_path / "s" / "again.case")
    empty = tmp_path / "s" / "no-counters.case"
    shutil.copytree(store / "node-2" / "0.case", empty)
    put(empty, "capture", [described("node-9", 9)])
    put(empty, "pmc_interval", [])
    found = rows(tmp_path / "s", "--view", "pmcarch", "-m", "cpi")
    assert [(row["capture"], row["value"]) for row in found] == [
        ("again.case", 1.8), ("deep/er [1]*/1.case", 1.77), ("no-counters.case", None),
        ("broken.perfcase", None), ("deep/er [1]*/0.case", None),
    ]  # fmt: skip
    assert found[2]["problem"].startswith("pmcarch has no rows: nothing in pmc_interval; ")
    assert "not a capture" in found[3]["problem"]
    assert found[4]["problem"] == "is the same capture as again.case"
    told = succeed("history", tmp_path / "s", "--view", "pmcarch", "-m", "cpi")
    assert "not in the answer: broken.perfcase: " in told


def test_a_damaged_import_does_not_stop_the_rest(tmp_path: Path, store: Path) -> None:
    for name in ("node-1", "node-2"):
        shutil.copytree(store / name, tmp_path / name)
    (tmp_path / "node-1" / "0.case" / "tables" / "pmc_interval.parquet").write_bytes(b"PAR1 and nothing else PAR1")
    (tmp_path / "node-1" / "1.case" / "tables" / "capture.parquet").write_bytes(b"")
    found = rows(tmp_path, "--view", "pmcarch", "-m", "cpi")
    assert [(row["capture"], row["value"], bool(row["problem"])) for row in found] == [
        ("node-1/0.case", None, True), ("node-2/0.case", 0.62, False), ("node-2/1.case", 0.66, False), ("node-1/1.case", None, True),
    ]  # fmt: skip


def test_several_stores_may_hold_the_same_names(store: Path) -> None:
    stores = [store / "node-1", store / "node-2" / "0.case"]
    found = json.loads(succeed("history", *stores, "--view", "pmcarch", "-m", "cpi", "--format", "json"))
    assert [(row["capture"], row["value"]) for row in found] == [
        (f"{store}/node-1/0.case", 1.8), (f"{store}/node-2/0.case", 0.62), (f"{store}/node-1/1.case", 1.77),
    ]  # fmt: skip


def test_a_store_without_captures(tmp_path: Path) -> None:
    assert "no capture in it can be read" in fail(3, "history", tmp_path)
    assert "no such folder" in fail(6, "history", tmp_path / "none")


def test_the_search_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        (tmp_path / f"{number}.perfcase").write_bytes(b"x")
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    monkeypatch.setattr(captures, "DEPTH_MAX", 1)
    reasons = [entry.reason for entry in captures.load([tmp_path]).left_out]
    assert "more than 1 folders deep" in reasons
    monkeypatch.setattr(captures, "CAPTURES_MAX", 4)
    reasons = [entry.reason for entry in captures.load([tmp_path]).left_out]
    assert "the store holds more than 4 captures; name a part of it" in reasons
    monkeypatch.setattr(captures, "ENTRIES_MAX", 3)
    assert "only 3 files are looked at" in [entry.reason for entry in captures.load([tmp_path]).left_out]
