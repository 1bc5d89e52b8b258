"""The crates, the modules of perfcase-import, and which way the arrows between them go: CONTRIBUTING.md has the tables."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
CRATES = ROOT / "analyzer" / "crates"
SOURCES = CRATES / "perfcase-import" / "src"
NEEDS = {
    "archive": set(),
    "decode": {"archive"},
    "symbols": {"archive"},
    "import": {"archive", "decode", "symbols"},
    "redact": {"archive", "decode", "symbols"},
    "py": {"archive", "import", "redact"},
    "fuzz": {"archive", "decode", "symbols"},
}
"""The other crates that each crate may use, also for its tests."""
ROOMS = (
    ("bound", "columns", "syscall_arguments", "writer"),
    ("order", "ports", "syscall_names", "tables"),
    ("blame", "model", "sink"),
    ("timeline",),
    ("tracepoint",),
    ("session",),
    ("source",),
    ("decoders",),
    ("import", "symbolize", "traceevent"),
)
"""From the bottom up: a module may use those below it, not its neighbours."""
LEVEL = {name: level for level, names in enumerate(ROOMS) for name in names}
OF_TESTS = {"fixture", "jitdump_file", "scale"}
PARSING = re.compile(
    r"\.(?:parse|lines|trim\w*)(?:::<[^>]*>)?\(\)"
    r"|\.(?:r?split\w*|strip_(?:pre|suf)fix|split_ascii_whitespace|split_whitespace)\("
    r"|\bfrom_(?:str_radix|utf8|[bl]e_bytes)\("
)
"""What a file does that reads text or bytes itself."""


def files() -> Iterator[tuple[Path, str]]:
    """Each file but those of tests and programs, and its module."""
    for path in sorted(SOURCES.rglob("*.rs")):
        place = path.relative_to(SOURCES)
        if place.parts[0] not in ("lib.rs", "bin") and not path.stem.endswith("tests") and path.stem != "testing":
            yield path, place.parts[0].removesuffix(".rs")


def code(path: Path) -> str:
    """A file without its comments and its tests."""
    return re.sub(r"//.*", "", path.read_text()).partition("#[cfg(test)]\nmod tests {")[0]


def used(path: Path) -> set[str]:
    """The modules of the crate that a file names, its tests left out."""
    text = code(path)
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


def test_the_crates_stand_on_those_below() -> None:
    found = {}
    for file in CRATES.glob("*/Cargo.toml"):
        manifest = tomllib.loads(file.read_text())
        kinds = ("dependencies", "dev-dependencies", "build-dependencies")
        names = {name for kind in kinds for name in manifest.get(kind, {}) if name.startswith("perfcase-")}
        found[manifest["package"]["name"].removeprefix("perfcase-")] = {
            name.removeprefix("perfcase-") for name in names
        }
    assert found == NEEDS


def test_perfcase_decode_names_no_file_of_the_importer() -> None:
    """Tests too: what both need stands in analyzer/testing/."""
    sources = [path for path in (CRATES / "perfcase-decode").rglob("*.rs") if "perfcase-import" in code(path)]
    assert sources == []


def test_the_decoders_of_the_importer_leave_the_reading_to_perfcase_decode() -> None:
    found = [
        f"{path.relative_to(SOURCES)}: {match[0]}"
        for path, room in files()
        if room == "decoders"
        for match in PARSING.finditer(code(path))
    ]
    assert found == []


def test_the_table_of_rooms_is_the_one_of_this_test() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    lines = [line for line in text.splitlines() if re.match(r"\| importer \d", line)]
    assert [tuple(sorted(re.findall(r"`(\w+)", line.split("|")[2]))) for line in lines] == list(ROOMS)
