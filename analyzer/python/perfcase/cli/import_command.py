"""perfcase import: convert a capture into Parquet tables."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from perfcase.case import query, store
from perfcase.cli.common import DebugDirOption, import_progress, local_file
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb, rich
from perfcase.terminal import render
from perfcase.text import plural, safe

SEVERITY_STYLES = {"error": "bold red", "warning": "yellow", "info": "dim"}


def command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="Captures to import: files, or their URLs.", show_default=False, parser=local_file
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="The folder to create. For several FILEs, or if DIR exists, FILE.case is created in it.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Import again even if nothing changed.")] = False,
    kallsyms: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The /proc/kallsyms of the recorded kernel, for captures without one."),
    ] = None,
    debug_dir: DebugDirOption = None,
    tables_only: Annotated[
        bool, typer.Option("--tables-only", help="Do not work out the findings and the report in advance.")
    ] = False,
) -> None:
    """Import captures into Parquet tables, and a case.duckdb that the stock duckdb can open.

    The output lists the tables with their row counts, and what was lost or damaged. Other commands import when necessary. Use
    this command to choose the folder, or to import in advance. It also works out the findings and the report, and keeps
    them in the folder, so that they are there at once.

    Example: perfcase import incident.perfcase -o /tmp/incident && duckdb /tmp/incident/case.duckdb
    """
    options = {"kallsyms": str(kallsyms)} if kallsyms else {}
    meanwhile = None if tables_only else _load
    for file in files:
        out = target_folder(file, output, several=len(files) > 1)
        with import_progress(file.name) as progress:
            case = store.open_case(
                file, out, progress, force=force, options=options, debug_dirs=debug_dir or (), meanwhile=meanwhile
            )
            if not tables_only:
                progress("findings and report", sum(case.info["tables"].values()))
                keep_answers(case)
        print_case(render.console(), case)


def keep_answers(case: store.Case) -> None:
    """Keep the findings, the report and the figures for histories in the folder. What cannot be worked out or kept is left to those who
    ask for it."""
    # Loaded here: the core reads the capture meanwhile.
    from perfcase.fleet.figures import keep_all
    from perfcase.report.writer import prepare

    with suppress(duckdb.Error, PerfcaseError), query.connect(case.folder) as connection:
        prepare(connection)
        keep_all(connection)


def _load() -> None:
    # Whatever fails here fails again, and is reported, where it is used.
    with suppress(Exception):
        import duckdb  # noqa: F401

        import perfcase.fleet.figures
        import perfcase.report.writer  # noqa: F401
        from perfcase.catalogue.rules import load_rules
        from perfcase.catalogue.schema import load_tables
        from perfcase.catalogue.views import load_views

        for load in (load_rules, load_views, load_tables):
            load()


def target_folder(file: Path, output: Path | None, *, several: bool) -> Path | None:
    """Choose the folder: DIR itself if it is new, empty or an import, else a folder in it."""
    if output is None:
        return None
    if output.exists() and not output.is_dir():
        raise PerfcaseError("usage", f"{output}: is not a folder")
    inside = several or (output.is_dir() and any(output.iterdir()) and not store.is_imported(output))
    return output / store.default_folder(file).name if inside else output


def print_case(console: rich.console.Console, case: store.Case) -> None:
    """Print the tables, their row counts and the issues."""
    tables = case.info["tables"]
    filled = [(name, rows) for name, rows in tables.items() if rows]
    console.print(render.table_of(["table", "rows"], filled))
    if len(filled) < len(tables):
        empty = ", ".join(name for name, rows in tables.items() if not rows)
        console.print(rich.text.Text(f"empty: {safe(empty)}", style="dim"), soft_wrap=True)
    print_issues(console, case.info.get("issues", []))
    if unenclosed := case.info.get("unenclosed"):
        console.print(rich.text.Text(safe(unenclosed), style="dim"), soft_wrap=True)
    how = "imported before" if case.reused else f"imported in {case.info.get('duration_s', 0):.2f} s"
    total = plural(sum(tables.values()), "row")
    console.print(rich.text.Text(f"{safe(str(case.folder))}: {total}, {how}"), soft_wrap=True)


def print_issues(console: rich.console.Console, issues: list[dict]) -> None:
    """Print what was lost or damaged, one line each, the worst first."""
    for severity in ("error", "warning", "info"):
        for issue in (issue for issue in issues if issue["severity"] == severity):
            where = f"{issue['source'] or 'capture'}"
            if issue["byte_offset"] is not None:
                where += f" at byte {issue['byte_offset']:,}"
            times = f" ({issue['count']:,} times)" if issue["count"] > 1 else ""
            hint = f" — {issue['hint']}" if issue.get("hint") else ""
            line = rich.text.Text(f"{severity}: ", style=SEVERITY_STYLES[severity])
            line.append(safe(f"{where}: {issue['message']}{times}{hint}"), style="default")
            console.print(line, soft_wrap=True)
