"""firefox: the processed profile format's own rules, and every figure against the views.

The rules are those of the profiler's documentation (docs-developer/CHANGELOG-formats.md) and of the types that it loads
(src/types/profile.ts), as of version 62: what the upgraders to later versions read, they read by these columns.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.export.conftest import assert_same_functions, functions, paths
from tests.oracles.compare import assert_same
from tests.support.cli import perfcase
from tests.support.fakecase import make_case

COLORS = {
    "transparent", "purple", "green", "orange", "yellow", "lightblue", "blue", "brown", "magenta", "red", "lightred",
    "darkgrey", "grey",
}  # fmt: skip
NUMBER, TEXT, FLAG = (int, float), str, bool
# The columns of each table: what they refer to, or their type; "?" before what may be null, "-" before what may be -1.
SHARED = {
    "stackTable": {"prefix": "?stackTable", "frame": "frameTable"},
    "frameTable": {
        "address": NUMBER, "inlineDepth": NUMBER, "category": "?categories", "subcategory": "?subcategories",
        "func": "funcTable", "nativeSymbol": "?nativeSymbols", "innerWindowID": "?number", "line": "?number",
        "column": "?number",
    },
    "funcTable": {
        "name": "stringArray", "isJS": FLAG, "relevantForJS": FLAG, "resource": "-resourceTable", "source": "?sources",
        "lineNumber": "?number", "columnNumber": "?number",
    },
    "nativeSymbols": {"libIndex": "libs", "address": NUMBER, "name": "stringArray", "functionSize": "?number"},
    "resourceTable": {"lib": "?libs", "name": "stringArray", "host": "?stringArray", "type": NUMBER},
    "sources": {
        "id": "?text", "filename": "stringArray", "startLine": NUMBER, "startColumn": NUMBER, "sourceMapURL": "?stringArray"
    },
}  # fmt: skip
SAMPLES = {"stack": "?stackTable", "time": NUMBER, "weight": NUMBER}
MARKERS = {
    "data": "?text",
    "name": "stringArray",
    "startTime": "?number",
    "endTime": "?number",
    "phase": NUMBER,
    "category": "categories",
}
THREAD = {
    "name": TEXT, "processName": TEXT, "processType": TEXT, "pid": TEXT, "tid": (str, int), "isMainThread": FLAG,
    "registerTime": NUMBER, "unregisterTime": (*NUMBER, type(None)), "processStartupTime": NUMBER,
    "processShutdownTime": (*NUMBER, type(None)), "pausedRanges": list, "showMarkersInTimeline": FLAG,
    "samples": dict, "markers": dict,
}  # fmt: skip
LIB = {
    "arch": (str, type(None)), "name": TEXT, "path": TEXT, "debugName": TEXT, "debugPath": TEXT, "breakpadId": TEXT,
    "codeId": (str, type(None)),
}  # fmt: skip
META = {
    "interval": NUMBER, "startTime": NUMBER, "processType": NUMBER, "version": NUMBER, "preprocessedProfileVersion": NUMBER,
    "product": TEXT, "importedFrom": TEXT, "categories": list, "markerSchema": list, "sampleUnits": dict, "symbolicated": FLAG,
    "debug": FLAG, "pausedRanges": list, "extensions": dict, "usesOnlyOneStackType": FLAG, "sourceCodeIsNotOnSearchfox": FLAG,
}  # fmt: skip
KNOWN = {"oscpu": TEXT, "CPUName": TEXT, "logicalCPUs": NUMBER}


def check(profile: dict[str, Any]) -> None:
    """Holds a profile to the format: an AssertionError says where it is not."""
    assert set(profile) == {"meta", "libs", "pages", "profilerOverhead", "counters", "shared", "threads"}
    meta, shared = profile["meta"], profile["shared"]
    fields("meta", {key: value for key, value in meta.items() if key not in KNOWN}, META)
    fields("meta", {key: meta[key] for key in KNOWN if key in meta}, {key: KNOWN[key] for key in KNOWN if key in meta})
    assert meta["preprocessedProfileVersion"] == 62
    assert meta["interval"] > 0
    assert meta["sampleUnits"] == {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "µs"}
    for category in meta["categories"]:
        assert category["subcategories"][0] == "Other"
        assert category["color"] in COLORS
    assert any(category["color"] == "grey" for category in meta["categories"]), "the default category"
    for lib in profile["libs"]:
        fields("lib", lib, LIB)
    assert set(shared) == {*SHARED, "stringArray"}
    assert all(type(text) is str for text in shared["stringArray"])
    assert len(set(shared["stringArray"])) == len(shared["stringArray"])
    bounds = {name: shared[name]["length"] for name in SHARED} | {
        "stringArray": len(shared["stringArray"]), "libs": len(profile["libs"]), "categories": len(meta["categories"]),
        "subcategories": min((len(c["subcategories"]) for c in meta["categories"]), default=0),
    }  # fmt: skip
    for name, columns in SHARED.items():
        table(name, shared[name], columns, bounds)
    prefixes = shared["stackTable"]["prefix"]
    assert all(prefix is None or prefix < place for place, prefix in enumerate(prefixes)), (
        "a caller stands before its callees"
    )
    # A library is there for its resource.
    assert sorted(shared["resourceTable"]["lib"]) == list(range(bounds["libs"]))
    keys = [(thread["pid"], thread["tid"]) for thread in profile["threads"]]
    assert len(set(keys)) == len(keys), "threads are told apart by their ids"
    for thread in profile["threads"]:
        fields("thread", thread, THREAD)
        samples = dict(thread["samples"])
        assert samples.pop("weightType") in ("samples", "tracing-ms")
        table("samples", samples, SAMPLES, bounds)
        table("markers", thread["markers"], MARKERS, bounds)
        assert samples["time"] == sorted(samples["time"]), "samples are in the order of time"


def fields(what: str, entry: dict[str, Any], types: dict[str, Any]) -> None:
    assert set(entry) == set(types), what
    for key, kind in types.items():
        assert isinstance(entry[key], kind), (what, key)
        assert kind is FLAG or type(entry[key]) is not bool, (what, key)


def table(name: str, entry: dict[str, Any], columns: dict[str, Any], bounds: dict[str, int]) -> None:
    assert set(entry) == {*columns, "length"}, name
    for column, kind in columns.items():
        values = entry[column]
        assert len(values) == entry["length"], (name, column)
        if isinstance(kind, str):
            if kind[0] == "?":
                values = [value for value in values if value is not None]
            elif kind[0] == "-":
                values = [value for value in values if value != -1]
            kind = kind.lstrip("?-")
            if kind in bounds:
                assert all(type(value) is int and 0 <= value < bounds[kind] for value in values), (name, column)
                continue
            kind = {"number": NUMBER, "text": TEXT}[kind]
        assert all(isinstance(value, kind) and (kind is FLAG or type(value) is not bool) for value in values), (
            name,
            column,
        )


@pytest.fixture(scope="module")
def profile(exported: Callable[[str], Path]) -> dict[str, Any]:
    return json.loads(exported("firefox").read_bytes())


def test_firefox(profile: dict[str, Any], connection: duckdb.DuckDBPyConnection) -> None:
    check(profile)
    shared = profile["shared"]
    strings, frames, funcs, stacks = (shared[n] for n in ("stringArray", "frameTable", "funcTable", "stackTable"))
    chains: list[tuple[str, ...]] = []
    for prefix, frame in zip(stacks["prefix"], stacks["frame"], strict=True):
        name = strings[funcs["name"][frames["func"][frame]]]
        chains.append((*(chains[prefix] if prefix is not None else ()), name))
    ours: Counter[tuple[str, ...]] = Counter()
    own: Counter[str] = Counter()
    total: Counter[str] = Counter()
    moments = []
    for thread in profile["threads"]:
        samples = thread["samples"]
        assert samples["weightType"] == "tracing-ms"
        moments += [round(1e6 * time) for time in samples["time"]]
        for stack, weight in zip(samples["stack"], samples["weight"], strict=True):
            ours[(thread["name"], *chains[stack])] += round(1e6 * weight)
    for (_, *chain), weight in ours.items():
        own[chain[-1]] += weight
        total.update(dict.fromkeys(chain, weight))
    assert ours == Counter({path: int(weight) for path, weight in paths(connection).items()})
    assert_same_functions({name: (own[name], total[name]) for name in total}, functions(connection, "period"))
    told = connection.execute(
        "SELECT ts_ns FROM sample JOIN perf_event USING (event_id) WHERE name LIKE 'cpu-clock%'"
    ).fetchall()
    assert_same(Counter(moments), Counter(ts for (ts,) in told))
    resources = {strings[name] for name in shared["resourceTable"]["name"]}
    assert resources == {row[0] for row in connection.execute("SELECT name FROM dso").fetchall()}


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        (("meta", "preprocessedProfileVersion"), 61),
        (("meta", "interval"), 0),
        (("meta", "categories", 0, "color"), "pink"),
        (("shared", "stackTable", "prefix", 0), 0),
        (("shared", "stackTable", "frame", 0), 1_000_000),
        (("shared", "stackTable", "length"), 1),
        (("shared", "frameTable", "category", 0), 3),
        (("shared", "frameTable", "line", 0), "7"),
        (("shared", "funcTable", "name", 0), None),
        (("shared", "funcTable", "resource", 0), -2),
        (("shared", "resourceTable", "lib", 0), 1),
        (("shared", "stringArray", 0), None),
        (("libs", 0, "name"), None),
        (("threads", 0, "pid"), 17),
        (("threads", 0, "samples", "stack", 0), -1),
        (("threads", 0, "samples", "time", 0), 1e12),
        (("threads", 0, "samples", "weightType"), "cycles"),
    ],
)
def test_what_is_wrong_is_seen(profile: dict[str, Any], place: tuple[str | int, ...], wrong: object) -> None:
    """The profile is cut to what it takes, so that a copy is cheap."""
    small = {**profile, "threads": profile["threads"][:2]}
    check(small)
    broken = at = {**small, "meta": copy.deepcopy(small["meta"])}
    for key in place[:-1]:
        at[key] = copy.copy(at[key])
        at = at[key]
    assert at[place[-1]] != wrong
    at[place[-1]] = wrong
    with pytest.raises((AssertionError, TypeError)):
        check(broken)


def test_threads_of_one_tid_and_hostile_names(tmp_path: Path) -> None:
    """A tid that was used again: two threads. Counts are weights of samples; what has no time comes at the last moment."""
    name = "\u202e\x1b]0;x\x07\ud800</script>"
    rows = {
        "thread": [{"utid": n, "tid": 10, "pid": 10, "comm": name} for n in (1, 2, 3)],
        "perf_event": [{"event_id": 0, "name": "cycles", "is_tracepoint": False}],
        "dso": [{"dso_id": 0, "name": "", "path": name, "kind": "user"}],
        "frame": [
            {"frame_id": 0, "dso_id": 0, "address": 1, "is_kernel": False, "is_inlined": False, "symbol": name,
             "source_file": name, "source_line": 7},
        ],
        "sample": [
            {"sample_id": n, "ts_ns": ts, "utid": n, "event_id": 0, "period": 9, "cpu_mode": 2, "frame_id": 0}
            for n, ts in ((1, 5), (2, 3), (3, None))
        ],
    }  # fmt: skip
    rows = json.loads(json.dumps(rows).replace("\\ud800", ""))
    case = make_case(tmp_path / "x.case", rows)
    done = perfcase("export", case, "--to", "firefox", "-o", "-", cwd=tmp_path)
    assert "units but time: it calls other weights samples" in done.stderr
    assert list(tmp_path.iterdir()) == [case]
    written = json.loads(done.stdout)
    check(written)
    assert [(thread["pid"], thread["tid"], thread["samples"]["weight"]) for thread in written["threads"]] == [
        ("10", "10", [9]), ("10", "10.1", [9]), ("10", "10.2", [9])
    ]  # fmt: skip


def test_nothing_to_write(tmp_path: Path) -> None:
    rows = {
        "perf_event": [{"event_id": 0, "name": "cycles", "is_tracepoint": False}],
        "frame": [{"frame_id": 0, "address": 1, "is_kernel": True, "is_inlined": False, "symbol": "f"}],
        "sample": [{"sample_id": 0, "ts_ns": 1, "event_id": 0, "cpu_mode": 1, "frame_id": 0}],
    }
    done = perfcase("export", make_case(tmp_path / "x.case", rows), "--to", "firefox", "--where", "tid = 1")
    assert "not in the firefox export: samples: none matches --where\n" in done.stderr
    check(json.loads(done.stdout))
