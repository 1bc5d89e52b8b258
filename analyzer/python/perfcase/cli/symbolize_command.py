"""perfcase symbolize: add names of functions to an import."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perfcase.case import query, store
from perfcase.catalogue.schema import literal
from perfcase.cli.common import FileArgument, OutputOption, import_progress, open_file
from perfcase.cli.options import from_request
from perfcase.errors import PerfcaseError
from perfcase.operations.fields import Form
from perfcase.operations.result import Rows, select

COLUMNS = ("object", "build_id", "frame_count", "named_before_count", "named_count", "symbols", "missing_reason")


@from_request
def command(
    file: FileArgument,
    *,
    debug_dir: Annotated[
        list[Path] | None,
        typer.Option(
            "--debug-dir",
            metavar="DIR",
            help="The folder with the object and debug files. Can be given several times; the first that has a file is used.",
            show_default=False,
        ),
    ] = None,
    request: Form,
    output: OutputOption = None,
) -> None:
    """Add names of functions to FILE from object and debug files, without importing it again.

    DIR is a folder with .build-id/xx/yyyy[.debug], debuginfod's cache, perf's ~/.debug, a sysroot (/ is this machine), an
    ELF file, or the file of perf archive. Only files with the recorded build ID are used. An object without a recorded build
    ID is found by its path. Debug information adds inlined functions and source lines. Kernel names come from vmlinux, or
    from the list in the file of perf archive; names of modules come from their .ko files, compressed or not.

    The output lists every object: how many of its addresses had a name before and have one now, where the names come from,
    and why the others have none. If you interrupt the command, FILE stays as it was. You can run it again.

    Example: perfcase symbolize incident.perfcase --debug-dir ~/.cache/debuginfod_client
    """
    if not debug_dir:
        raise PerfcaseError("usage", "symbolize needs --debug-dir DIR", "--debug-dir / takes this machine's own files")
    for place in debug_dir:
        if not place.exists():
            raise PerfcaseError("not_found", f"{place}: no such file or folder")
    case = open_file(file)
    with import_progress(file.name) as progress:
        progress("naming", case.info["tables"].get("frame", 0))
        case, objects = store.symbolize(case, debug_dir)
    rows = [[o["path"], *(o[name] for name in COLUMNS[1:])] for o in objects]
    rows.sort(key=lambda row: (-row[2], row[0], row[1] or ""))
    with query.connect(case.folder) as connection:
        Rows(select(connection, _select(rows), None), request.fmt, None).write(output)


def _select(rows: list[list]) -> str:
    """Return the rows as a SELECT, so that every output format can print them."""
    numbers = {"frame_count", "named_before_count", "named_count"}
    types = ["BIGINT" if name in numbers else "VARCHAR" for name in COLUMNS]
    shown = ", ".join(f"{name}::{kind} AS {name}" for name, kind in zip(COLUMNS, types, strict=True))
    cells = [
        "(" + ", ".join("NULL" if v is None else str(v) if isinstance(v, int) else literal(v) for v in row) + ")"
        for row in rows or [[None] * len(COLUMNS)]
    ]
    where = "" if rows else " WHERE false"
    return f"SELECT {shown} FROM (VALUES {', '.join(cells)}) AS objects({', '.join(COLUMNS)}){where}"
