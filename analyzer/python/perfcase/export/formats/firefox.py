"""The Firefox Profiler's processed profile format, version 62, which profiler.firefox.com opens."""

from __future__ import annotations

import json
from collections import Counter
from typing import BinaryIO

from perfcase import __version__
from perfcase.export.source import NO_SAMPLES, Samples

READERS = "profiler.firefox.com"
MEDIA = "json"
SUFFIX = "firefox.json"
UNSUPPORTED = (
    f"{NO_SAMPLES}; the CPUs of samples, addresses (frames have their names), units but time: it calls other weights"
    " samples"
)
VERSION = 62
GECKO_VERSION = 24

_CATEGORIES = (("Other", "grey"), ("User", "yellow"), ("Kernel", "orange"))
_USER, _KERNEL = 1, 2


def write(samples: Samples, file: BinaryIO) -> None:
    """Write the file. Times are ms since the recording began; weights of clocks are ms, of other events counts."""
    samples.note_losses(times=True)
    capture = samples.connection.execute(
        "SELECT start_realtime_ns, os, machine, kernel_release, cpu_model, cpu_count FROM capture"
    ).fetchone()
    realtime, system, machine, kernel, cpu_model, cpus = capture or (None,) * 6
    strings: dict[str, int] = {}
    libs, shared, last = _shared(samples, strings)
    is_clock = samples.unit == "ns"
    meta = {
        "categories": [{"name": name, "color": color, "subcategories": ["Other"]} for name, color in _CATEGORIES],
        "debug": False,
        "extensions": {"baseURL": [], "id": [], "length": 0, "name": []},
        "interval": _interval(samples),
        "markerSchema": [],
        "pausedRanges": [],
        "preprocessedProfileVersion": VERSION,
        "processType": 0,
        "product": f"{samples.name}: {samples.event}",
        "importedFrom": f"perfcase {__version__}",
        "sampleUnits": {"eventDelay": "ms", "threadCPUDelta": "µs", "time": "ms"},
        "sourceCodeIsNotOnSearchfox": True,
        "startTime": (realtime or 0) / 1e6,
        "symbolicated": True,
        "usesOnlyOneStackType": True,
        "version": GECKO_VERSION,
    }
    known = {
        "oscpu": " ".join(filter(None, (system, kernel, machine))) or None,
        "CPUName": cpu_model,
        "logicalCPUs": cpus,
    }
    meta |= {key: value for key, value in known.items() if value is not None}
    head = {"meta": meta, "libs": libs, "pages": [], "profilerOverhead": [], "counters": [], "shared": shared}
    file.write(_json(head)[:-1] + b',"threads":[')
    used: Counter[int] = Counter()
    for number, (thread, rows) in enumerate(samples.by_thread()):
        # Threads are told apart by their tids; the kernel uses one again.
        tid = f"{thread.tid}.{used[thread.tid]}" if used[thread.tid] else str(thread.tid)
        used[thread.tid] += 1
        stacks, times, weights = [], [], []
        moment = 0
        for sample in rows:
            # A sample without a moment takes the one before.
            moment = moment if sample.ts_ns is None else sample.ts_ns
            stacks.append(last[sample.stack])
            times.append(moment / 1e6)
            weights.append(sample.weight / 1e6 if is_clock else sample.weight)
        table = {
            "length": len(stacks), "stack": stacks, "time": times, "weight": weights,
            "weightType": "tracing-ms" if is_clock else "samples",
        }  # fmt: skip
        entry = {
            "name": thread.name, "isMainThread": thread.tid == thread.pid, "processName": thread.process,
            "pid": str(thread.pid), "tid": tid, "processType": "default", "registerTime": 0,
            "unregisterTime": None, "processStartupTime": 0, "processShutdownTime": None, "pausedRanges": [],
            "showMarkersInTimeline": False, "samples": table,
            "markers": {name: [] for name in ("category", "data", "endTime", "name", "phase", "startTime")} | {"length": 0},
        }  # fmt: skip
        file.write((b"," if number else b"") + _json(entry))
    file.write(b"]}\n")


def _shared(samples: Samples, strings: dict[str, int]) -> tuple[list[dict], dict[str, object], list[int | None]]:
    """Return the objects, the tables that all threads share, and for each callchain its entry of the stack table."""

    def string(value: str) -> int:
        return strings.setdefault(value, len(strings))

    rows = samples.connection.execute("SELECT dso_id, name, path, build_id FROM dso ORDER BY dso_id").fetchall()
    libs = [
        {
            "arch": None, "name": name, "path": path or name, "debugName": name, "debugPath": path or name,
            "breakpadId": "", "codeId": build_id,
        }
        for _, name, path, build_id in rows
    ]  # fmt: skip
    resources = {dso_id: place for place, (dso_id, *_) in enumerate(rows)}
    functions: dict[tuple[str, int, int | None], int] = {}
    sources: dict[str, int] = {}
    frames = list(samples.frames.values())
    places = {key: place for place, key in enumerate(samples.frames)}
    func, line, category = [], [], []
    for frame in frames:
        resource = -1 if frame.dso_id is None else resources[frame.dso_id]
        source = None if frame.source_file is None else sources.setdefault(frame.source_file, len(sources))
        func.append(functions.setdefault((frame.name, resource, source), len(functions)))
        line.append(frame.source_line)
        category.append(_KERNEL if frame.is_kernel else _USER)
    nodes: dict[tuple[int | None, int], int] = {}
    last: list[int | None] = []
    for stack in samples.stacks:
        node: int | None = None
        for key in reversed(stack):
            node = nodes.setdefault((node, places[key]), len(nodes))
        last.append(node)
    shared: dict[str, object] = {
        "frameTable": {
            "length": len(frames), "address": [-1] * len(frames), "inlineDepth": [0] * len(frames), "category": category,
            "subcategory": [0] * len(frames), "func": func, "nativeSymbol": [None] * len(frames),
            "innerWindowID": [0] * len(frames), "line": line, "column": [None] * len(frames),
        },
        "funcTable": {
            "length": len(functions), "name": [string(name) for name, *_ in functions],
            "isJS": [False] * len(functions), "relevantForJS": [False] * len(functions),
            "resource": [resource for _, resource, _ in functions], "source": [source for *_, source in functions],
            "lineNumber": [None] * len(functions), "columnNumber": [None] * len(functions),
        },
        "nativeSymbols": {"length": 0, "address": [], "functionSize": [], "libIndex": [], "name": []},
        "resourceTable": {
            "length": len(rows), "lib": list(range(len(rows))), "name": [string(row[1]) for row in rows],
            "host": [None] * len(rows), "type": [1] * len(rows),
        },
        "sources": {
            "length": len(sources), "id": [None] * len(sources), "filename": [string(name) for name in sources],
            "startLine": [1] * len(sources), "startColumn": [1] * len(sources), "sourceMapURL": [None] * len(sources),
        },
        "stackTable": {
            "length": len(nodes), "prefix": [prefix for prefix, _ in nodes], "frame": [frame for _, frame in nodes],
        },
    }  # fmt: skip
    shared["stringArray"] = list(strings)
    return libs, shared, last


def _interval(samples: Samples) -> float:
    """Return milliseconds between samples, as they were asked for; 1 where that is not known."""
    row = samples.connection.execute(
        "SELECT max(sample_freq), max(sample_period) FROM perf_event WHERE name = ?", [samples.event]
    ).fetchone()
    if row and row[0]:
        return 1000 / row[0]
    return row[1] / 1e6 if row and row[1] and samples.unit == "ns" else 1


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
