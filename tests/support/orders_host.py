"""A recording of a host that answers orders: each waits for a request, syncs a file, and answers. Nothing of it ever happened."""

from __future__ import annotations

import hashlib
import io
import json
import random
import tarfile
from pathlib import Path

from tests.support.callsim import NUMBERS
from tests.support.perfdata import Recording

DAY_NS = 86_400 * 10**9
FIRST_NS = 1_788_253_200 * 10**9
"""2026-09-01 09:00:00 UTC."""
REQUESTS, SYNC_MS, SLOW_TIMES = 40, 2.0, 4.0
_START_NS, _PID, _OTHER = 10**9, 700, 701
_D_STATE = 2


def started_ns(day: int) -> int:
    """When the recordings of a day began, in ns since 1970."""
    return FIRST_NS + day * DAY_NS


def write(path: Path, host: str, day: int, is_slow: bool) -> Path:
    """Write the archive. Where ``is_slow``, fdatasync takes SLOW_TIMES as long as elsewhere; all times vary by host, day and request."""
    chance = random.Random(f"{host} {day}")
    # How busy a host is and how fast its disk is are its own, and are not the same each day.
    pause_ms, sync_ms = (
        mean * chance.lognormvariate(0, 0.1) * random.Random(host + what).lognormvariate(0, 0.1)
        for what, mean in (("pause", 8.0), ("sync", SYNC_MS * (SLOW_TIMES if is_slow else 1)))
    )
    made, ns = Recording(), _START_NS

    def later(mean_ms: float) -> int:
        return int(mean_ms * chance.lognormvariate(0, 0.2) * 1e6)

    def call(name: str, *args: int, ret: int, wait_ns: int, state: int) -> None:
        """Add a call of the server that waits, while the other thread has the CPU."""
        nonlocal ns
        made.enter(ns, _PID, _PID, NUMBERS[name], args)
        made.switch(ns + 5_000, 0, _PID, state, _OTHER)
        ns += wait_ns
        made.waking(ns - 20_000, 0, _OTHER, _PID)
        made.switch(ns - 8_000, 0, _OTHER, 0, _PID)
        made.exit(ns, _PID, _PID, NUMBERS[name], ret)
        ns += later(0.2)

    made.names = {_PID: "orders", _OTHER: "backup"}
    for pid, name in made.names.items():
        made.fork(ns - 2_000, pid, pid, 1, 1)
        made.comm(ns - 1_000, pid, pid, name)
    for _ in range(REQUESTS):
        call("recvfrom", 5, ret=300, wait_ns=later(pause_ms), state=1)
        call("fdatasync", 6, ret=0, wait_ns=later(sync_ms), state=_D_STATE)
        call("sendto", 5, ret=120, wait_ns=later(0.1), state=1)
    file = path.with_suffix(".data")
    data = made.write(file).read_bytes()
    file.unlink()
    _pack(path, data, host, started_ns(day), ns)
    return path


def _pack(path: Path, data: bytes, host: str, realtime_ns: int, end_ns: int) -> None:
    anchors = [
        {"at": at, "monotonic_ns": ns, "realtime_ns": realtime_ns + ns - _START_NS, "boottime_ns": ns}
        for at, ns in (("start", _START_NS), ("end", end_ns))
    ]
    size, digest = len(data), hashlib.sha256(data).hexdigest()
    manifest = {
        "format": "perfcase",
        "format_version": "1.0",
        "clock": {"name": "CLOCK_MONOTONIC", "anchors": anchors},
        "sources": [{"name": "perf", "kind": "perf_data", "status": "available", "clock": "monotonic"}],
        "members": [
            {"path": "perf/perf.data", "source": "perf", "compression": "none", "size_bytes": size, "stored_bytes": size, "sha256": digest}
        ],
        "host": {"hostname": host, "machine": "x86_64", "cpu_count": 1},
    }  # fmt: skip
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in (("manifest.json", json.dumps(manifest).encode()), ("perf/perf.data", data)):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
