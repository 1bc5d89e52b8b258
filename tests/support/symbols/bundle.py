"""Puts a perf.data and the symbol tables that it needs into a .perfcase (schema/README.md, section symbols).

What the recorder does on a host, done again here for recordings that perf made alone: the tests then do not depend on
the recorder, and stored captures can be cut down to the symbols near the addresses that occur in them.
"""

from __future__ import annotations

import bisect
import gzip
import hashlib
import io
import json
import os
import re
import tarfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.symbols.record import vdso
from tests.support.symbols.table_elf import Elf, tables_of

DEBUG_FILES = "/usr/lib/debug/.build-id"
FRAME = re.compile(r"^\s+(?P<ip>[0-9a-f]+) .* \((?P<dso>.*)\)$")
PERF_MAP = re.compile(r"/tmp/perf-(\d+)\.map")


@dataclass
class Bundle:
    """Members of the archive and their list."""

    members: dict[str, bytes] = field(default_factory=dict)
    rows: list[tuple[object, ...]] = field(default_factory=list)

    def add(self, member: str, kind: str, data: bytes, *, path: str, build_id: str = "-", pid: object = "-") -> None:
        """A member below symbols/ and its line."""
        self.members[f"symbols/{member}"] = data
        nspid = pid if kind in ("perf-map", "jitdump") else "-"
        self.rows.append((member, kind, build_id, escaped(path), pid, nspid, len(data), len(data), "-"))

    def miss(self, kind: str, path: str, reason: str) -> None:
        """A line for what is not there."""
        self.rows.append(("-", kind, "-", escaped(path), "-", "-", 0, 0, reason))

    def objects(self) -> bytes:
        """symbols/objects.tsv."""
        head = ["member", "kind", "build_id", "path", "pid", "nspid", "size_bytes", "original_bytes", "reason"]
        return "".join("\t".join(map(str, row)) + "\n" for row in (head, *self.rows)).encode()


def escaped(path: str) -> str:
    """As in objects.tsv."""
    return path.replace("\\", "\\134").replace("\t", "\\011").replace("\n", "\\012")


def used_places(script: str) -> dict[str, set[int]]:
    """Path to the places of it that frames of `perf script` are at."""
    found: dict[str, set[int]] = defaultdict(set)
    for line in script.splitlines():
        frame = FRAME.match(line)
        if frame is not None:
            found[frame["dso"]].add(int(frame["ip"], 16))
    return found


def near_lines(lines: Iterable[str], used: set[int]) -> str:
    """Those of the lines that are near a used address. Each begins with its address in hex, in any order."""
    rows = sorted((int(line.split(None, 1)[0], 16), number, line) for number, line in enumerate(lines))
    kept: set[int] = set()
    for address in used:
        place = bisect.bisect_right(rows, address, key=lambda row: row[0])
        kept.update(range(max(0, place - 3), min(len(rows), place + 3)))
    return "".join(line + "\n" for _, line in sorted((rows[index][1], rows[index][2]) for index in kept))


def bundle(
    data: bytes,
    script: str,
    *,
    prune: bool,
    full: bool = False,
    unwinding: bool = False,
    small_frames: bool = False,
    jitdump: Path | None = None,
    root: Path = Path("/"),
    kallsyms: Path = Path("/proc/kallsyms"),
    vdso_file: Path | None = None,
    machine: str | None = None,
) -> bytes:
    """The archive. ``script`` is `perf script` of the recording with ip, sym and dso. ``full``: whole files, not tables; if cut
    down, only those with debug information.

    ``root``, ``kallsyms``, ``vdso_file`` and ``machine`` are those of the machine that recorded, if it was not this one.
    """
    made = Bundle()
    made.members["perf/perf.data"] = data
    for path, used in sorted(used_places(script).items()):
        perf_map = PERF_MAP.fullmatch(path)
        if perf_map is not None:
            if Path(path).exists():
                text = Path(path).read_text(errors="surrogateescape")
                text = near_lines(text.splitlines(), used) if prune else text
                name = f"perf-map/{perf_map[1]}"
                made.add(name, "perf-map", text.encode(errors="surrogateescape"), path=path, pid=perf_map[1])
        elif path == "[vdso]":
            made.add("vdso", "vdso", vdso() if vdso_file is None else vdso_file.read_bytes(), path=path)
        elif path == "[kernel.kallsyms]":
            lines = kallsyms.read_text().splitlines()
            lines = [line for line in lines if line.split()[1] in "tTwW"]
            made.members["host/kallsyms"] = near_lines(lines, used if prune else used | {0}).encode()
            if not prune:
                made.members["host/kallsyms"] = "".join(line + "\n" for line in lines).encode()
        elif jitdump is not None and Path(path).parent == jitdump.parent and "/jitted-" in path:
            continue  # perf inject made it: nothing that a host has
        elif path.startswith("/") and inside(root, path).is_file():
            _add_file(
                made, root, path, used if prune else None, full=full, unwinding=unwinding, small_frames=small_frames
            )
        elif path.startswith("/"):
            made.miss("elf-table", path, "deleted and unreadable")
    if jitdump is not None:
        pid = jitdump.stem.partition("-")[2]
        made.add(f"jitdump/{pid}-0", "jitdump", jitdump.read_bytes(), path=str(jitdump), pid=pid)
    made.members["symbols/objects.tsv"] = made.objects()
    return archive(made.members, machine)


def inside(root: Path, path: str) -> Path:
    """The file of another machine's tree."""
    return root / path.lstrip("/")


def _add_file(made: Bundle, root: Path, path: str, used: set[int] | None, *, full: bool, **options: bool) -> None:
    whole = inside(root, path).read_bytes()
    try:
        build_id = Elf(whole).build_id()
    except ValueError:
        return made.miss("elf-table", path, "not an ELF file")
    name = build_id or "path-" + hashlib.sha256(path.encode()).hexdigest()[:16]
    if full and (used is None or Elf(whole).section(".debug_info")):
        return made.add(f"elf/{name}", "elf", whole, path=path, build_id=build_id or "-")
    debug_file = inside(root, DEBUG_FILES) / name[:2] / f"{name[2:]}.debug"
    debug = debug_file.read_bytes() if build_id and debug_file.exists() else None
    table = tables_of(whole, debug, used, **options)
    return made.add(f"elf/{name}", "elf-table", table, path=path, build_id=build_id or "-")


def archive(members: Mapping[str, bytes], machine: str | None = None) -> bytes:
    """A .perfcase of these members, with a manifest that claims nothing else."""
    stored = {f"{path}.gz": gzip.compress(content, 9, mtime=0) for path, content in members.items()}
    sources = sorted({_source(path) for path in members})
    manifest = {
        "format": "perfcase",
        "format_version": (Path(__file__).parents[3] / "schema" / "VERSION").read_text().strip(),
        "recorder": {
            "version": "tests",
            "command": [],
            "target": {"mode": "command", "command": ["x"], "pids": [], "cgroup": None},
            "stopped_by": "target_exit",
            "interrupted_by": None,
        },
        "ticket": None,
        "note": None,
        "host": dict.fromkeys(
            ["hostname", "kernel_release", "kernel_version", "os", "boot_id", "cpu_count", "cpu_model"]
        )
        | {"machine": machine or os.uname().machine, "byte_order": "little"}
        | dict.fromkeys(("page_size_bytes", "clock_ticks_per_s", "memory_bytes")),
        "clock": {
            "name": "CLOCK_MONOTONIC",
            "anchors": [{"at": "start", "monotonic_ns": 1, "realtime_ns": 1_700_000_000_000_000_000, "boottime_ns": 1}],
        },
        "sources": [_source_entry(name) for name in sources],
        "members": [
            {
                "path": f"{path}.gz",
                "source": _source(path),
                "compression": "gzip",
                "size_bytes": len(content),
                "stored_bytes": len(stored[f"{path}.gz"]),
                "sha256": hashlib.sha256(stored[f"{path}.gz"]).hexdigest(),
            }
            for path, content in members.items()
        ],
        "overhead": [],
        "knobs": [],
    }
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        files = {"manifest.json": json.dumps(manifest, indent=1).encode(), **stored}
        for path, content in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(content), 0o644
            tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()


_KINDS = {"perf": "perf_data", "host": "host_file", "symbols": "symbols"}


def _source(path: str) -> str:
    return path.partition("/")[0]


def _source_entry(name: str) -> dict[str, object]:
    empty = dict.fromkeys(("reason", "remedy", "tool", "tool_version", "started_monotonic_ns", "ended_monotonic_ns"))
    entry = {"name": name, "kind": _KINDS[name], "status": "available", "command": [], "lost_events": None}
    return {**entry, **empty, "clock": "monotonic" if name == "perf" else None}
