"""The SQL kit: ``schema/kit/<name>.sql``, expressions that views and rules share. schema/kit/README.md describes it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from perfcase.catalogue.schema import schema_dir
from perfcase.errors import PerfcaseError

_CALL = re.compile(r"@([a-z_]+)\(")
_PARAMETER = re.compile(r"\$(\w+)")
_DEPTH_MAX = 8
"""Parts of the kit may use each other; more than that is a circle."""


@dataclass(frozen=True)
class Part:
    """An expression of the kit: what it is, its parameters, its text."""

    name: str
    description: str
    parameters: tuple[str, ...]
    sql: str


@cache
def load_kit() -> dict[str, Part]:
    """Return every part by name.

    Raises:
        PerfcaseError: a file is not in the form, or uses a parameter that it does not take.
    """
    return {path.stem: parse_part(path) for path in sorted((schema_dir() / "kit").glob("*.sql"))}


def parse_part(path: Path) -> Part:
    """Read one file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    head = [line for line in lines if line.startswith("--")]
    sql = "\n".join(line for line in lines if not line.startswith("--")).strip()
    takes = next((line.partition(": ")[2] for line in head if line.startswith("-- takes: ")), "")
    parameters = tuple(name.strip() for name in takes.split(","))
    if not head or not head[0].startswith(f"-- {path.stem}: ") or set(_PARAMETER.findall(sql)) != set(parameters):
        raise PerfcaseError(
            "internal", f"{path}: not '-- {path.stem}: what it is', '-- takes: …', and an expression of these"
        )
    return Part(path.stem, head[0].partition(": ")[2], parameters, sql)


def expand(sql: str, where: str, kit: Mapping[str, Part] | None = None) -> str:
    """Put the text of the kit in the place of each ``@name(…)`` of a SELECT.

    Raises:
        PerfcaseError: an unknown part, a wrong number of arguments, a parenthesis without its end.
    """
    parts = load_kit() if kit is None else kit
    for _ in range(_DEPTH_MAX):
        if not _CALL.search(sql):
            return sql
        sql = "".join(_expanded(sql, where, parts))
    raise PerfcaseError("internal", f"{where}: parts of the kit use each other in a circle")


def _expanded(sql: str, where: str, parts: Mapping[str, Part]) -> Iterator[str]:
    at = 0
    while call := _CALL.search(sql, at):
        part = parts.get(call[1])
        arguments, end = _arguments(sql, call.end(), where)
        if part is None or len(arguments) != len(part.parameters):
            raise PerfcaseError("internal", f"{where}: {call[0]}…) is not in the kit, or takes other arguments")
        given = dict(zip(part.parameters, arguments, strict=True))
        yield sql[at : call.start()]
        text = _PARAMETER.sub(lambda name, given=given: _bracketed(given[name[1]]), part.sql)
        yield f"({text})"
        at = end
    yield sql[at:]


def _bracketed(argument: str) -> str:
    """Return an argument as an operand: a name, a number, a call or a string stands for itself."""
    return argument if re.fullmatch(r"[\w.]+|'[^']*'|\w+\([^()]*\)", argument) else f"({argument})"


def _arguments(sql: str, start: int, where: str) -> tuple[list[str], int]:
    """Return the arguments of a call whose parenthesis opened before ``start``, and where the text goes on."""
    found, depth, begin, quoted = [], 0, start, False
    for at in range(start, len(sql)):
        char = sql[at]
        if char == "'":
            quoted = not quoted
        elif quoted:
            continue
        elif char in "([":
            depth += 1
        elif char in ")]" and depth:
            depth -= 1
        elif char == ")":
            return [*found, sql[begin:at].strip()], at + 1
        elif char == "," and not depth:
            found.append(sql[begin:at].strip())
            begin = at + 1
    raise PerfcaseError("internal", f"{where}: a parenthesis of the kit's has no end")
