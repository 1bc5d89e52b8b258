"""Count the samples of a function by instruction and source line."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from perfcase.case.opening import Opened
from perfcase.case.query import gate, sql_errors
from perfcase.catalogue.schema import literal
from perfcase.errors import PerfcaseError, unknown
from perfcase.lazy import duckdb
from perfcase.operations import fields
from perfcase.operations.request import Option
from perfcase.operations.result import Rows, say, select
from perfcase.stacks.fetching import SAMPLES, WORKLOAD, chosen_event, condition_of, event_counts
from perfcase.stacks.instructions import INSTRUCTIONS_MAX, MACHINES, instructions
from perfcase.stacks.shaping import Shaping
from perfcase.stacks.source_text import SourceText

COLUMNS = {
    "symbol": ("VARCHAR", "The function."),
    "dso": ("VARCHAR", "The object: its short name."),
    "address": ("UBIGINT", "The instruction's address within the object, as frame.address counts."),
    "symbol_offset_bytes": ("UBIGINT", "Its distance from the function's start; NULL where the start is not known."),
    "source_file": ("VARCHAR", "The source file; of inlined code: its own. NULL where it is not known."),
    "source_line": ("UINTEGER", "The line in it."),
    "inlined": ("VARCHAR", "The innermost function that was inlined at a sampled address; NULL where there is none."),
    "sample_count": ("UBIGINT", "Samples at the instruction; those of what it calls do not count."),
    "period": ("UBIGINT", "What these samples stand for, in the event's unit."),
    "symbol_ratio": ("DOUBLE", "The period as a share of that of all rows; NULL without samples."),
    "instruction": ("VARCHAR", "The instruction's text; NULL where the code is not at hand."),
    "missing_reason": ("VARCHAR", "Why there is no text of the instruction; NULL where there is."),
}
"""The columns of the rows, with their types and what they say."""
SOURCE_TEXT = {"source_text": ("VARCHAR", "The line's text; NULL where the file is not at hand.")}
"""The column that --source adds."""
OBJECTS = {
    "dso_id": ("UBIGINT", "The capture's own key of the object; NULL where it is not known."),
    "dso": ("VARCHAR", "Its short name."),
    "path": ("VARCHAR", "Its full path on the host."),
    "build_id": ("VARCHAR", "Its build ID, hex; NULL where it is not known."),
    "sample_count": ("UBIGINT", "Samples whose innermost function is this one of this object."),
}
"""The columns of the objects that have a function."""

TOLD_MAX = 20
"""Objects that an error lists."""
HOW = "record with --symbols full, or give the objects with --debug-dir DIR"
_TABLES_ONLY = "symbol tables only"
_NO_FILE = "the object's file is not at hand"
_OFF_BOUNDARY = "no instruction begins here"

Code = tuple[int, str, bytes | None, str | None]
"""A function's address, instruction set and bytes, and why there are none."""
Line = tuple[int, str | None, int | None]


@dataclass(frozen=True, kw_only=True)
class Request(fields.ChosenStacks):
    """A function, and which of its samples count."""

    function: Annotated[
        str, Option("The function, as a flame graph names it.", is_argument=True, length_max=10_000, example="main")
    ]
    dso: Annotated[
        str | None,
        Option(
            "Use the function of this object: its name, its path, its build ID or its dso_id.",
            metavar="NAME", length_max=4096, example="libc.so.6",
        ),
    ] = None  # fmt: skip
    objects: Annotated[
        bool,
        Option("List the objects that have the function, those with the most samples first.", flags=("--objects",)),
    ] = False
    event: fields.event("Use the samples of this event. Default: a clock.") = None
    workload: fields.Workload = False
    where: fields.where("Use only these samples: a condition on comm, tid, pid, cpu, ts_ns.") = None
    collapse: Annotated[
        tuple[str, ...],
        Option(
            "Let --include and --exclude name this object as one frame, [OBJECT], as a flame graph with --collapse has it.",
            metavar="OBJECT", length_max=fields.SHAPED_MAX, example="libc.so.6",
        ),
    ] = ()  # fmt: skip
    limit: fields.Limit = None
    fmt: fields.Format = "table"


class Result(Rows):
    """The rows. ``write`` also says why there are no instructions, and how to get them."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        request: Request,
        rows: list[dict],
        notes: Sequence[str] = (),
        columns: Mapping[str, tuple[str, str]] = COLUMNS,
    ) -> None:
        super().__init__(select(connection, _values(rows, columns), request.limit), request.fmt, request.limit)
        self.notes = notes

    def write(self, output: Path | None = None) -> None:
        """Write it: see ``Rows``."""
        super().write(output)
        for note in self.notes:
            say(note)


def run(request: Request, case: Opened, source: SourceText | None = None) -> Result:
    """Return a row for each instruction of a function, or, without its code, for each sampled address; or for each object that has it.
    ``source``: where the text of the source lines is.

    Raises:
        PerfcaseError: there is no such function, event or object (not_found), several objects have the function (usage), the
            condition is wrong (sql).
    """
    connection, name = case.connection, request.function
    events = {event: unit for event, unit, _ in event_counts(connection, is_whole=not case.only)}
    event, _ = chosen_event(events, request.event)
    frames = (
        "(SELECT f.dso_id, f.address, f.symbol_offset_bytes, f.source_file, f.source_line, f.is_kernel, f.frame_id"
        f" FROM frame AS f JOIN frame_label AS l USING (frame_id) WHERE l.label = {literal(name)} AND NOT f.is_inlined)"
    )
    part = f" AND ({WORKLOAD})" if request.workload else ""
    if request.where:
        gate(connection, f"SELECT 1 WHERE ({request.where}\n)")
        part += f" AND ({request.where}\n)"
    shaping = Shaping(request.include, request.exclude, frozenset(request.collapse))
    samples = (
        f"(SELECT * FROM ({SAMPLES}) WHERE event = {literal(event)}{part} AND {condition_of(connection, shaping)})"
    )
    found = _objects(connection, request, frames, samples)
    if request.objects:
        return Result(connection, request, found, columns=OBJECTS)
    dso_id, dso, is_kernel = _object(request, found)
    same = f"f.dso_id IS NOT DISTINCT FROM {'NULL' if dso_id is None else dso_id}"
    with sql_errors():
        sampled = connection.execute(
            "SELECT f.address, min(f.symbol_offset_bytes), any_value(f.source_file), any_value(f.source_line), count(*),"
            f" sum(coalesce(s.period, 1)) FROM {samples} AS s JOIN {frames} AS f USING (frame_id)"
            f" WHERE {same} GROUP BY f.address ORDER BY f.address"
        ).fetchall()
    inlined = {} if dso_id is None else _inlined(connection, dso_id, [row[0] for row in sampled])
    known = connection.execute(
        f"SELECT address, machine, code, missing_reason FROM function_code AS f WHERE {same} AND symbol = {literal(name)} ORDER BY 1"
    ).fetchall()
    lines = connection.execute(
        "SELECT l.function_address, l.address, l.source_file, l.source_line FROM function_line AS l JOIN function_code AS f"
        f" ON f.dso_id = l.dso_id AND f.address = l.function_address WHERE {same} AND symbol = {literal(name)} ORDER BY 2"
    ).fetchall()
    rows = _joined(sampled, known, [row[1:] for row in lines], inlined)
    missing = (
        "the code of a kernel is not kept: it changes its own when it starts"
        if is_kernel
        else None
        if known
        else _NO_FILE
    )
    whole = sum(row["period"] for row in rows)
    for row in rows:
        row |= {"symbol": name, "dso": dso, "symbol_ratio": row["period"] / whole if whole else None}
        if row["instruction"] is None:
            row["missing_reason"] = row.get("missing_reason") or missing or _NO_FILE
    notes, columns = _notes(name, rows), COLUMNS
    if source:
        columns = {**COLUMNS, **SOURCE_TEXT}
        notes += _add_text(rows, source)
    return Result(connection, request, rows, notes, columns)


def _add_text(rows: Sequence[dict], source: SourceText) -> list[str]:
    """Add the text of the lines. Return what is to be said of files that are not there."""
    for row in rows:
        file, line = row["source_file"], row["source_line"]
        row["source_text"] = source.line(file, line) if file and line else None
    missing = sorted(source.missing)
    more = f" and {len(missing) - TOLD_MAX} more" if len(missing) > TOLD_MAX else ""
    return [f"no source text: not in a folder of --source: {', '.join(missing[:TOLD_MAX])}{more}"] if missing else []


def _objects(connection: duckdb.DuckDBPyConnection, request: Request, frames: str, samples: str) -> list[dict]:
    """Return the objects that have the function, of those that are asked for, the one with the most of the samples first."""
    with sql_errors():
        rows = connection.execute(
            "SELECT f.dso_id, coalesce(d.name, '[unknown]'), coalesce(d.path, '[unknown]'), d.build_id, bool_or(f.is_kernel), count(s.frame_id)"
            f" FROM {frames} AS f LEFT JOIN dso AS d USING (dso_id) LEFT JOIN {samples} AS s USING (frame_id) GROUP BY ALL"
            " ORDER BY 6 DESC, 3, 4, 1"
        ).fetchall()
    if not rows:
        raise _nowhere(connection, request.function)
    found = [dict(zip((*list(OBJECTS)[:4], "is_kernel", "sample_count"), row, strict=True)) for row in rows]
    if request.dso is None:
        return found
    fitting = [one for one in found if request.dso in (one["dso"], one["path"], one["build_id"], str(one["dso_id"]))]
    if not fitting:
        have = ", ".join(sorted({one["path"] for one in found}))
        raise PerfcaseError("not_found", f"{request.function} is not in {request.dso}", f"it is in {have}")
    return fitting


def _object(request: Request, found: Sequence[dict]) -> tuple[int | None, str, bool]:
    """Return the key and the name of the only object with the function, and whether it is the kernel's."""
    # A caller alone has nothing to show.
    chosen = [one for one in found if one["sample_count"]] or found
    if len(chosen) > 1:
        head = ("--dso", "path", "build ID", "samples")
        rows = [
            (
                one["path"] if one["dso_id"] is None else str(one["dso_id"]),
                one["path"],
                one["build_id"] or "-",
                f"{one['sample_count']:,}",
            )
            for one in chosen[:TOLD_MAX]
        ]
        more = f", of {len(chosen)} the first {TOLD_MAX}" if len(chosen) > TOLD_MAX else ""
        raise PerfcaseError(
            "usage", f"{len(chosen)} objects have a function {request.function}",
            f"say which with --dso, by its number, path or build ID; --objects lists them{more}", rows=(head, *rows),
        )  # fmt: skip
    return chosen[0]["dso_id"], chosen[0]["dso"], chosen[0]["is_kernel"]


def _nowhere(connection: duckdb.DuckDBPyConnection, name: str) -> PerfcaseError:
    """Return the error of a function that no address belongs to."""
    hosts = connection.execute(
        "SELECT DISTINCT h.symbol FROM frame AS i JOIN frame AS h ON h.dso_id = i.dso_id AND h.address = i.address AND NOT h.is_inlined"
        f" WHERE i.is_inlined AND i.symbol = {literal(name)} AND h.symbol IS NOT NULL ORDER BY 1 LIMIT 10"
    ).fetchall()
    if hosts:
        into = ", ".join(symbol for (symbol,) in hosts)
        return PerfcaseError(
            "not_found",
            f"{name} was inlined: it has no instructions of its own",
            f"its samples count for the functions that it was inlined into: {into}; their column inlined names it",
        )
    known = {
        symbol
        for (symbol,) in connection.execute("SELECT DISTINCT symbol FROM frame WHERE symbol IS NOT NULL").fetchall()
    }
    return unknown("function", name, known, "perfcase view function_profile")


def _inlined(connection: duckdb.DuckDBPyConnection, dso_id: int, addresses: Sequence[int]) -> dict[int, tuple]:
    """Return the innermost function that was inlined at each address, with its place in the source."""
    if not addresses:
        return {}
    rows = connection.execute(
        "SELECT address, arg_min(symbol, frame_id), arg_min(source_file, frame_id), arg_min(source_line, frame_id) FROM frame"
        f" WHERE is_inlined AND NOT is_return_address AND dso_id = {dso_id} AND address IN ({', '.join(map(str, addresses))}) GROUP BY address"
    ).fetchall()
    return {row[0]: row[1:] for row in rows}


def _joined(
    sampled: Sequence[tuple], known: Sequence[Code], lines: Sequence[Line], inlined: dict[int, tuple]
) -> list[dict]:
    """Return a row for each instruction, and for each sampled address that is none."""
    texts: dict[int, tuple[str | None, str | None, int]] = {}
    for start, machine, code, why in known:
        if code is not None and machine not in MACHINES:
            code, why = None, f"the instruction set {machine} is not printed, only {' and '.join(MACHINES)}"
        own = instructions(machine, code, start) if code is not None else []
        texts |= {address: (text, None, start) for address, text in own}
        counted = why or (
            _OFF_BOUNDARY if len(own) < INSTRUCTIONS_MAX else f"behind the first {INSTRUCTIONS_MAX:,} instructions"
        )
        end = start + len(code) if code is not None else None
        for address, offset, *_ in sampled:
            if address not in texts and (address - offset == start if offset is not None else False):
                texts[address] = (None, counted if end is None or address < end else _OFF_BOUNDARY, start)
    counts = {row[0]: row for row in sampled}
    begins = [line[0] for line in lines]
    rows = []
    for address in sorted({*texts, *counts}):
        text, why, start = texts.get(address, (None, None, None))
        _, offset, file, line, count, period = counts.get(address, (address, None, None, None, 0, 0))
        inner, inner_file, inner_line = inlined.get(address, (None, None, None))
        index = bisect_right(begins, address) - 1
        if index >= 0 and start is not None:
            _, file, line = lines[index]
        elif inner_file:
            file, line = inner_file, inner_line
        if offset is None and start is not None:
            offset = address - start
        rows.append(
            {
                "address": address, "symbol_offset_bytes": offset, "source_file": file, "source_line": line,
                "inlined": inner, "sample_count": count, "period": int(period), "instruction": text, "missing_reason": why,
            }
        )  # fmt: skip
    return rows


def _notes(name: str, rows: Sequence[dict]) -> list[str]:
    """Return what is to be said of the rows."""
    notes = []
    if not any(row["sample_count"] for row in rows):
        notes.append(
            f"{name} has no samples of its own here: it only calls others, or the part of the capture has none"
        )
    reasons = dict.fromkeys(row["missing_reason"] for row in rows if row["missing_reason"])
    for why in reasons:
        notes.append(f"no instruction's text: {why}" + (f"; {HOW}" if why in (_TABLES_ONLY, _NO_FILE) else ""))
    return notes


def _values(rows: list[dict[str, Any]], columns: Mapping[str, tuple[str, str]]) -> str:
    """Return the rows as a SELECT, so that every format can print them."""
    shape = json.dumps([{name: kind for name, (kind, _) in columns.items()}])
    named = ", ".join(f"r.{name} AS {name}" for name in columns)
    return f"SELECT {named} FROM (SELECT unnest(from_json({literal(json.dumps(rows))}, {literal(shape)})) AS r)"
