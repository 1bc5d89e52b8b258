"""When a source was on is what the recorder wrote down, or what its records say where they reach further; of a command, which begins
when all sources record, and may end before they do, it is what they say."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from perfcase.case import query, store

START_NS = 5_000_000_000_000
S = 1_000_000_000


def snapshot(number: int, at_ns: int) -> str:
    text = f"ctxt {number * 100}\n"
    return f"S {at_ns} {at_ns} {number}\nF {at_ns} {len(text)} /proc/stat\n{text}\nZ {at_ns} {number} 1 {len(text)}\n"


def span(
    folder: Path, mode: str, started: float | None, ended: float | None, stopped_by: str | None
) -> tuple[float, float]:
    """When a source was on that has records from 1 s to 3 s after the beginning of a capture of 4 s."""
    anchors = [
        {"at": at, "monotonic_ns": ns, "realtime_ns": ns, "boottime_ns": ns}
        for at, ns in (("start", START_NS), ("end", START_NS + 4 * S))
    ]
    source = {
        "name": "proc", "kind": "proc_snapshots", "status": "available", "clock": "monotonic",
        "started_monotonic_ns": started and START_NS + round(started * S),
        "ended_monotonic_ns": ended and START_NS + round(ended * S),
    }  # fmt: skip
    snapshots = "".join(snapshot(n, START_NS + n * S) for n in (1, 2, 3)).encode()
    member = {
        "path": "proc/snapshots", "source": "proc", "compression": "none", "size_bytes": len(snapshots),
        "stored_bytes": len(snapshots), "sha256": hashlib.sha256(snapshots).hexdigest(),
    }  # fmt: skip
    manifest = {
        "format": "perfcase", "format_version": "1.1", "recorder": {"target": {"mode": mode}, "stopped_by": stopped_by}, "sources": [source],
        "clock": {"name": "CLOCK_MONOTONIC", "anchors": anchors}, "members": [member],
    }  # fmt: skip
    path = folder / "x.perfcase"
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in (("manifest.json", json.dumps(manifest).encode()), ("proc/snapshots", snapshots)):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    with query.connect(store.open_case(path).folder) as connection:
        ((since, until),) = connection.execute(
            "SELECT since_ts_ns, until_ts_ns FROM source WHERE name = 'proc'"
        ).fetchall()
    return since / S, until / S


@pytest.mark.parametrize(
    ("mode", "stopped_by", "told", "expected"),
    [
        ("system", None, (0.5, 3.75), (0.5, 3.75)),
        ("pid", None, (0.5, 3.75), (0.5, 3.75)),
        ("cgroup", None, (0.5, 3.75), (0.5, 3.75)),
        ("command", None, (0.5, 3.75), (1, 3)),
        ("command", "target_exit", (0.5, 3.75), (1, 3)),
        # It may have slept at the end: it was there longer than its last record says.
        ("command", "duration", (0.5, 3.75), (1, 3.75)),
        ("system", None, (1.5, 2.5), (1, 3)),
        ("system", None, (None, None), (1, 3)),
    ],
)
def test_a_source_is_on_as_long_as_it_is_told_or_seen(
    mode: str,
    stopped_by: str | None,
    told: tuple[float | None, float | None],
    expected: tuple[float, float],
    tmp_path: Path,
) -> None:
    assert span(tmp_path, mode, *told, stopped_by) == expected
