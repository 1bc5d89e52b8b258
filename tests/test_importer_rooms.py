"""The modules of perfcase-import and which way the arrows between them go: CONTRIBUTING.md has the table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "analyzer" / "crates" / "perfcase-import" / "src"
ROOMS = (
    ("columns", "memory", "syscall_arguments", "writer"),
    ("order", "syscall_names", "tables"),
    ("model", "sink"),
    ("timeline",),
    ("tracepoint",),
    ("session",),
    ("source",),
    ("decoders",),
    ("import", "symbolize", "traceevent"),
)
"""From the bottom up: a module may use those below it, not its neighbours."""
LEVEL = {name: level for level, names in enumerate(ROOMS) for name in names}
OF_TESTS = {"fixture", "scale"}


def files() -> Iterator[tuple[Path, str]]:
    """Each file but those of tests and programs, and its module."""
    for path in sorted(SOURCES.rglob("*.rs")):
        place = path.relative_to(SOURCES)
        if place.parts[0] not in ("lib.rs", "bin") and not path.stem.endswith("tests") and path.stem != "testing":
            yield path, place.parts[0].removesuffix(".rs")


def used(path: Path) -> set[str]:
    """The modules of the crate that a file names, its tests left out."""
    text = re.sub(r"//.*", "", path.read_text()).partition("#[cfg(test)]\nmod tests {")[0]
    listed = re.findall(r"\bcrate::\{([^}]*)\}", text)
    return {*re.findall(r"\bcrate::(\w+)", text), *re.findall(r"\b(\w+)(?=::|\s*[,}]|$)", ",".join(listed))}


def test_every_module_is_in_a_room() -> None:
    assert {room for _, room in files()} == set(LEVEL)


def test_no_arrow_goes_up() -> None:
    arrows = {
        (str(path.relative_to(SOURCES)), target)
        for path, room in files()
        for target in used(path) - OF_TESTS - {room}
        if LEVEL.get(target, len(ROOMS)) >= LEVEL[room]
    }
    assert arrows == set()


def test_the_table_of_rooms_is_the_one_of_this_test() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    lines = [line for line in text.splitlines() if re.match(r"\| importer \d", line)]
    assert [tuple(sorted(re.findall(r"`(\w+)", line.split("|")[2]))) for line in lines] == list(ROOMS)
