"""folded, speedscope: the formats' own rules, every figure against the views, inferno (`make test` builds it)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from html import unescape
from pathlib import Path

import duckdb
import jsonschema

from tests.export.conftest import assert_same_functions, functions, paths
from tests.oracles.compare import assert_same

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "export"
INFERNO = shutil.which("inferno-flamegraph", path=ROOT / "target" / "tools" / "bin") or shutil.which(
    "inferno-flamegraph"
)


def test_folded(exported: Callable[[str], Path], connection: duckdb.DuckDBPyConnection) -> None:
    lines = exported("folded").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not re.fullmatch(r"[^;\n]+(;[^;\n]+)* [1-9][0-9]*", line)] == []
    assert lines == sorted(lines)
    ours = Counter({tuple(line.rpartition(" ")[0].split(";")): int(line.rpartition(" ")[2]) for line in lines})
    theirs: Counter[tuple[str, ...]] = Counter()
    for path, weight in paths(connection).items():
        theirs[tuple(name.replace(";", ":") for name in path)] += int(weight)
    assert len(theirs) > 500
    assert ours == theirs


def test_speedscope(exported: Callable[[str], Path], connection: duckdb.DuckDBPyConnection) -> None:
    profile = json.loads(exported("speedscope").read_bytes())
    jsonschema.validate(profile, json.loads((DATA / "speedscope-schema.json").read_text(encoding="utf-8")))
    names = [frame["name"] for frame in profile["shared"]["frames"]]
    ours: Counter[tuple[str, ...]] = Counter()
    for thread in profile["profiles"]:
        assert (thread["type"], thread["unit"]) == ("sampled", "nanoseconds")
        assert len(thread["samples"]) == len(thread["weights"])
        assert (thread["startValue"], thread["endValue"]) == (0, sum(thread["weights"]))
        for stack, weight in zip(thread["samples"], thread["weights"], strict=True):
            ours[(thread["name"].rpartition(" (tid ")[0], *(names[frame] for frame in stack))] += weight
    assert ours == Counter({path: int(weight) for path, weight in paths(connection).items()})
    heaviest = max(profile["profiles"], key=lambda thread: thread["endValue"])
    assert profile["profiles"][profile["activeProfileIndex"]] == heaviest


def test_functions_are_those_of_the_profile(
    exported: Callable[[str], Path], connection: duckdb.DuckDBPyConnection
) -> None:
    """Self and total of every function, counted in the folded lines as flame graph tools do."""
    self: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for line in exported("folded").read_text(encoding="utf-8").splitlines():
        path, _, weight = line.rpartition(" ")
        frames = path.split(";")[1:]
        self[frames[-1]] += int(weight)
        for name in set(frames):
            total[name] += int(weight)
    theirs = {name.replace(";", ":"): figures for name, figures in functions(connection, "period").items()}
    assert_same_functions({name: (self[name], total[name]) for name in total}, theirs)


def test_inferno_draws_every_frame(exported: Callable[[str], Path], connection: duckdb.DuckDBPyConnection) -> None:
    """The name and weight of every frame of inferno's flame graph; it has no words for a line that it cannot read but these."""
    assert INFERNO, "inferno is not installed: make test builds it"
    done = subprocess.run([INFERNO, "--minwidth", "0", exported("folded")], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    titles = [unescape(title) for title in re.findall(r"<title>(.*?)</title>", done.stdout)]
    told = [re.fullmatch(r"(.*) \(([\d,]+) samples, [\d.]+%\)", title) for title in titles]
    theirs = Counter((match[1], int(match[2].replace(",", ""))) for match in told if match)
    nodes: Counter[tuple[str, ...]] = Counter()
    for path, weight in paths(connection).items():
        for depth in range(1, len(path) + 1):
            nodes[tuple(name.replace(";", ":") for name in path[:depth])] += int(weight)
    ours = Counter((path[-1], weight) for path, weight in nodes.items())
    ours["all", sum(weight for path, weight in nodes.items() if len(path) == 1)] += 1
    assert_same(ours, theirs)
