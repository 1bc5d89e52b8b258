"""perfcase info: describe a capture, what it holds and what is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from perfcase.catalogue.privacy import load_privacy
from perfcase.cli.common import FileArgument, opened
from perfcase.cli.import_command import print_issues
from perfcase.errors import PerfcaseError
from perfcase.operations import info
from perfcase.redaction import private as private_data
from perfcase.terminal import render
from perfcase.terminal.render import console, table_of
from perfcase.text import safe, size

_EXAMPLE_LENGTH = 40


def command(
    file: FileArgument,
    members: Annotated[
        bool, typer.Option("--members", help="List every member of the archive, not only the kinds.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print everything as JSON, with the manifest unchanged.")
    ] = False,
    private: Annotated[
        bool,
        typer.Option(
            "--private",
            help="Show which classes of private data it holds, with counts and examples: read this before you send it. "
            "This imports it.",
        ),
    ] = False,
) -> None:
    """Describe FILE: the host, kernel, clocks and command, its sources, what is missing and how to record it.

    Without --private this does not import an archive. It imports a perf.data or trace.dat, because the description is inside.

    Example: perfcase info incident.perfcase
    """
    if not file.exists():
        raise PerfcaseError("not_found", f"{file}: no such file")
    if private:
        _print_private(file, as_json=as_json)
        return
    found = info.of_file(file, lambda: opened(file))
    if as_json:
        found.write()
    else:
        _print(found, every_member=members)


def _print(found: info.Result, *, every_member: bool) -> None:
    facts, sources, described = found.facts, found.sources, found.described
    out = console()
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        out.print(f"{name:<{width}}  {safe(str(value))}", markup=False, soft_wrap=True)
    out.print()
    headings = ["source", "status", "kind", "tool", "lost", "why", "how to record it"]
    rows = [
        [s["name"], s["status"], s["kind"], s["tool"] or "", s["lost_count"], s["reason"] or "", s["remedy"] or ""]
        for s in sources
    ]
    out.print(table_of(headings, rows))
    if described and described["members"]:
        out.print()
        out.print(_members(described["members"]) if every_member else _kinds(described["members"]))
    if described and described["problems"]:
        out.print()
        print_issues(out, [_issue(problem) for problem in described["problems"]])


def _print_private(file: Path, *, as_json: bool) -> None:
    """Print which private data a capture holds, and what was redacted in it."""
    with opened(file) as case:
        found = private_data.rows(private_data.private_data(case.connection, private_data.Rules()))
    redacted = private_data.redacted(file)
    if as_json:
        text = json.dumps({"redacted": redacted, "private": found}, indent=1, ensure_ascii=False)
        render.write_text(text + "\n", None)
        return
    if redacted:
        _print_redacted(redacted)
    rows = [
        [each["class"], each["title"], each["count"], "; ".join(_short(one) for one in each["examples"])]
        for each in found
    ]
    console().print(table_of(["class", "private data", "values", "examples"], rows))


def _print_redacted(redacted: dict[str, Any]) -> None:
    """Print what the manifest says of a redaction."""
    titles = {name: each.title for name, each in load_privacy().classes.items()}

    def listed(key: str) -> str:
        return "; ".join(safe(titles.get(str(name), str(name))) for name in redacted.get(key) or ()) or "nothing"

    out = console()
    version = safe(str(redacted.get("version")))
    out.print(f"redacted by perfcase {version}: the values below are pseudonyms", markup=False, soft_wrap=True)
    out.print(f"replaced: {listed('replaced')}", markup=False, soft_wrap=True)
    out.print(f"left: {listed('left')}", markup=False, soft_wrap=True)


def _short(example: str) -> str:
    line = safe(example.split("\n", 1)[0])
    return line if len(line) <= _EXAMPLE_LENGTH else line[: _EXAMPLE_LENGTH - 1] + "…"


def _members(members: list[dict[str, Any]]) -> Table:
    """Return every member."""
    rows = [
        [m["path"], m["kind"], _size(m.get("size_bytes")), _size(m.get("stored_bytes")), m.get("compression") or ""]
        for m in members
    ]
    return table_of(["member", "kind", "size", "stored", "compression"], rows)


def _kinds(members: list[dict[str, Any]]) -> Table:
    """Return the members, one row per kind."""
    kinds: dict[str, list[dict[str, Any]]] = {}
    for member in members:
        kinds.setdefault(member["kind"], []).append(member)
    rows = [
        [kind, len(of_kind), size(_sum(of_kind, "size_bytes")), size(_sum(of_kind, "stored_bytes"))]
        for kind, of_kind in kinds.items()
    ]
    return table_of(["members of kind", "files", "size", "stored"], rows)


def _sum(members: list[dict[str, Any]], key: str) -> int:
    return sum(member.get(key) or 0 for member in members)


def _size(value: int | None) -> str:
    return "" if value is None else size(value)


def _issue(problem: dict[str, Any]) -> dict[str, Any]:
    """Convert a problem of the archive reader into an import issue."""
    return {
        "severity": str(problem.get("severity", "warning")).lower(),
        "source": problem.get("member"),
        "byte_offset": problem.get("byte_offset"),
        "count": problem.get("count", 1),
        "message": problem.get("message", ""),
        "hint": problem.get("hint"),
    }
