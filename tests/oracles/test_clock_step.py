"""A wall clock that is set while recording: nothing in the views moves, and the import says so, and by how much.

The same snapshots twice, with the wall clock's times as they would be with and without a step.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Iterable
from pathlib import Path

import duckdb
import pytest

from perfcase.case import query, store
from perfcase.catalogue.views import load_views

START_NS = 5_000_000_000_000
WALL_NS = 1_700_000_000_000_000_000
SECOND = 1_000_000_000
STEPS_NS = [-3600 * SECOND, 90 * SECOND + 250_000_000]
# What tells of the import itself.
VIEWS = load_views().keys() - {"data_quality", "view_coverage"}


def process_stat(number: int) -> str:
    zeros = " ".join(["0"] * 8)
    return f"7 (work) S 1 7 7 0 -1 0 {number * 10} 0 0 0 {number * 50} {number * 20} 0 0 20 0 1 0 400 4096 9 1 {zeros} 0 0 0 0 17 0 0 0 0\n"


def files(number: int, wall_ns: int) -> dict[str, str]:
    """What /proc holds; the moment of the boot is what the wall clock says now, less the time since."""
    boot_s = (wall_ns - START_NS - number * SECOND) // SECOND
    cpu = " ".join(str((9 + field) * (number + 1)) for field in range(10))
    schedstat = f"{number * 700} {number * 30} {number * 4}\n"
    return {
        "/proc/stat": f"cpu  {cpu}\ncpu0 {cpu}\nintr {number * 100}\nctxt {number * 1000}\nbtime {boot_s}\nprocesses {number}\n"
        f"procs_running 1\nprocs_blocked 0\nsoftirq {number * 7}\n",
        "/proc/loadavg": "0.10 0.20 0.30 1/90 7\n",
        "/proc/meminfo": f"MemTotal: 1000 kB\nMemFree: {500 - number} kB\nMemAvailable: 600 kB\nBuffers: 1 kB\nCached: 2 kB\n",
        "/proc/vmstat": f"pgpgin {number * 8}\npgpgout 0\npgfault {number * 5}\npgmajfault 0\npswpin 0\npswpout 0\npgfree 1\n",
        "/proc/diskstats": f" 8 0 sda {number * 3} 0 {number * 24} {number * 6} 0 0 0 0 0 {number * 6} {number * 6}\n",
        "/proc/net/dev": f"head\nhead\neth0: {number * 1500} {number} 0 0 0 0 0 0 {number * 60} {number} 0 0 0 0 0 0\n",
        "/proc/net/snmp": f"Tcp: ActiveOpens InSegs OutSegs RetransSegs\nTcp: {number} {number * 10} {number * 9} 0\n",
        "/proc/pressure/cpu": f"some avg10=0.00 avg60=0.00 avg300=0.00 total={number * 1000}\n",
        "/sys/fs/cgroup/a/cpu.stat": f"usage_usec {number * 300}\n",
        "/proc/7/stat": process_stat(number),
        "/proc/7/task/7/stat": process_stat(number),
        "/proc/7/task/7/schedstat": schedstat,
    }


def snapshots(wall_of: list[int]) -> bytes:
    stream = b""
    for number, wall_ns in enumerate(wall_of):
        clock = START_NS + number * SECOND
        stream += b"S %d %d %d\n" % (clock, wall_ns, number)
        for path, text in files(number, wall_ns).items():
            stream += b"F %d %d %s\n%s\n" % (clock, len(text), path.encode(), text.encode())
        stream += b"Z %d %d 1 1\n" % (clock, number)
    return stream


def archive(path: Path, wall_of: list[int], end_boottime_ns: int) -> Path:
    """A recording of four seconds."""
    stream = snapshots(wall_of)
    anchor = {"monotonic_ns": START_NS, "realtime_ns": wall_of[0], "boottime_ns": START_NS + 77, "at": "start"}
    end = {
        "monotonic_ns": START_NS + 4 * SECOND,
        "realtime_ns": wall_of[-1],
        "boottime_ns": end_boottime_ns,
        "at": "end",
    }
    member = {
        "path": "proc/snapshots",
        "source": "proc",
        "compression": "none",
        "size_bytes": len(stream),
        "stored_bytes": len(stream),
        "sha256": hashlib.sha256(stream).hexdigest(),
    }
    source = {"name": "proc", "kind": "proc_snapshots", "status": "available", "clock": "monotonic"}
    manifest = {
        "format": "perfcase",
        "format_version": "1.0",
        "clock": {"name": "CLOCK_MONOTONIC", "anchors": [anchor, end]},
        "sources": [source],
        "members": [member],
        "host": {"clock_ticks_per_s": 100, "memory_bytes": 1_024_000},
    }
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in (("manifest.json", json.dumps(manifest).encode()), ("proc/snapshots", stream)):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def imported(path: Path, names: Iterable[str]) -> tuple[dict[str, list], list[tuple], list[int]]:
    """The rows of these views, the issues about clocks, and the capture's start in wall time."""
    with duckdb.connect(str(store.open_case(path).folder / "case.duckdb"), read_only=True) as case:
        query.tune(case)
        views = {name: case.execute(f"SELECT * FROM {name}").fetchall() for name in names}
        issues = case.execute(
            "SELECT severity, source, message FROM import_issue WHERE kind = 'clock_step' ORDER BY source NULLS FIRST"
        ).fetchall()
        return views, issues, [case.execute("SELECT start_realtime_ns FROM capture").fetchone()[0]]


@pytest.fixture(scope="module")
def even(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, list], list[tuple], list[int]]:
    """A wall clock that goes on evenly."""
    wall = [WALL_NS + number * SECOND for number in range(5)]
    return imported(archive(tmp_path_factory.mktemp("even") / "x.perfcase", wall, START_NS + 77 + 4 * SECOND), VIEWS)


@pytest.mark.parametrize("step_ns", STEPS_NS)
def test_a_step_of_the_wall_clock_moves_nothing_and_is_told(
    step_ns: int, even: tuple[dict[str, list], list[tuple], list[int]], tmp_path: Path
) -> None:
    stepped = [WALL_NS + number * SECOND + (step_ns if number >= 3 else 0) for number in range(5)]
    views, none, start = even
    same_views, issues, same_start = imported(
        archive(tmp_path / "x.perfcase", stepped, START_NS + 77 + 4 * SECOND), VIEWS
    )
    assert none == []
    assert {name for name in views if views[name] != same_views[name]} == set()
    assert start == same_start
    for name in ("cpu_utilization", "disk_utilization", "net_utilization", "tcp_activity", "paging", "pressure"):
        assert len(views[name]) >= 4, name
    for name in ("vm_activity", "process_activity", "cgroup_activity", "load_average", "memory"):
        assert len(views[name]) >= 4, name
    told = f"{'+' if step_ns > 0 else '-'}{abs(step_ns) // SECOND}.{abs(step_ns) % SECOND // 1_000_000:03}"
    ((severity, source, of_anchors), (second, name, of_snapshots)) = issues
    assert (severity, source, second, name) == ("warning", None, "warning", "proc/snapshots")
    assert f"stepped by {told} s during the recording" in of_anchors
    assert f"stepped by {told} s between 2.000 and 3.000 s of the capture" in of_snapshots


def test_a_suspended_host_is_no_step(tmp_path: Path) -> None:
    """The monotonic clock stands still meanwhile: the snapshots cannot tell, the anchors can."""
    slept = [WALL_NS + number * SECOND + (60 * SECOND if number >= 2 else 0) for number in range(5)]
    _, issues, _ = imported(archive(tmp_path / "x.perfcase", slept, START_NS + 77 + 64 * SECOND), ())
    ((_, source, message),) = issues
    assert source == "proc/snapshots"
    assert "or the host was suspended" in message
