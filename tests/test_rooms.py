"""The rooms of perfcase/ and which way the arrows go: CONTRIBUTING.md has the table."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "analyzer" / "python" / "perfcase"
ROOMS = (
    {"_core", "errors", "lazy", "text"},
    {"catalogue"},
    {"case"},
    {"stacks", "terminal"},
    {"diff", "export", "report", "server_client"},
    {"attach", "fleet", "redaction", "summary"},
    {"cluster"},
    {"operations"},
    {"cli"},
)
"""From the bottom up: a room may import from those below it, not from its neighbours."""
LEVEL = {name: level for level, names in enumerate(ROOMS) for name in names}


def imported(path: Path) -> Iterator[list[str]]:
    """What a file imports, also within functions, as parts of dotted names."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name.split(".") for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ([*node.module.split("."), name.name] for name in node.names)


def modules() -> Iterator[tuple[Path, str]]:
    """Each file of the package but its front door, and its room."""
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        if place.parts[0] not in ("__init__.py", "_data"):
            yield path, place.parts[0].removesuffix(".py")


def goes_up(room: str, target: list[str]) -> bool:
    return any(name != room and LEVEL.get(name, -1) >= LEVEL[room] for name in target)


def test_every_module_is_in_a_room() -> None:
    assert {room for _, room in modules()} | {"_core"} == set(LEVEL)


def test_no_arrow_goes_up() -> None:
    arrows = {
        (f"{path.relative_to(PACKAGE)}", ".".join(parts[:2]))
        for path, room in modules()
        for parts in imported(path)
        if parts[0] == "perfcase_api" or (parts[0] == "perfcase" and goes_up(room, parts[1:2]))
    }
    assert arrows == set()


def test_the_server_asks_no_command() -> None:
    """It calls operations; only its own start is a command."""
    arrows = {
        path.name
        for path in (ROOT / "api" / "perfcase_api").rglob("*.py")
        for parts in imported(path)
        if parts[:2] == ["perfcase", "cli"] or parts[0] == "typer"
    }
    assert arrows == set()


def test_the_table_of_rooms_is_the_one_of_this_test() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    told = [
        set(re.findall(r"`(\w+)(?:/|\.py)`", line.split("|")[2]))
        for line in text.splitlines()
        if re.match(r"\| room \d", line)
    ]
    assert told == [names - {"_core"} for names in ROOMS]
