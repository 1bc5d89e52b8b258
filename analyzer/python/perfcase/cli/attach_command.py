"""perfcase attach: attach a capture or its findings to a ticket."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from perfcase.attach import CREDENTIALS, Attachment, adapter, authorization
from perfcase.case.kept import have_findings
from perfcase.cli.common import DebugDirOption, FileArgument, OnlyOption, opened
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb
from perfcase.operations import summary
from perfcase.operations.result import say
from perfcase.redaction import private
from perfcase.text import plural, safe

_MEDIA = {"html": "text/html; charset=utf-8", "md": "text/markdown; charset=utf-8"}
_FINDINGS_MAX = 20


def command(
    file: FileArgument,
    tracker: Annotated[
        str, typer.Option("--tracker", metavar="URL", help="The tracker's address.", show_default=False)
    ],
    issue: Annotated[str, typer.Option("--issue", metavar="N", help="The ticket's number.", show_default=False)],
    by: Annotated[
        str,
        typer.Option(
            "--adapter", metavar="NAME", help="The kind of tracker: roundup, webhook, or an installed adapter."
        ),
    ] = "roundup",
    with_summary: Annotated[
        bool, typer.Option("--summary", help="Attach the summary page instead of the capture.", show_default=False)
    ] = False,
    to: Annotated[
        summary.Form, typer.Option("--to", help="The format of the summary: html or md (Markdown).")
    ] = "html",
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            metavar="URL",
            help="Also upload the capture to this perfcase server, and link to it in the message.",
        ),
    ] = None,
    credentials: Annotated[
        Path | None,
        typer.Option(
            "--credentials",
            metavar="FILE",
            help=f"A file with USER:PASSWORD or a token of the tracker. Default: ${CREDENTIALS}.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be sent, and send nothing.", show_default=False)
    ] = False,
    only: OnlyOption = None,
    debug_dir: DebugDirOption = None,
) -> None:
    """Attach a capture to a ticket, with its findings as the message.

    --server uploads the capture to a perfcase server under the number of the ticket, with the token in PERFCASE_TOKEN. The
    message then links to it. With --summary the ticket gets the page and the link. A webhook receives a form by POST: issue,
    text, file. Standard error says which private data a capture holds that is not redacted: see --dry-run.

    Example: perfcase attach incident.perfcase --tracker https://bugs.example.org/tracker/ --issue 123 --summary
    """
    if not issue.isalnum():
        raise PerfcaseError("usage", f"{issue}: not an issue number", "--issue 123")
    sender = adapter(by)(tracker, authorization(credentials))
    with opened(file, debug_dir, only) as case:
        text = _findings_text(case.connection, case.name_words)
        if with_summary:
            page = summary.run(summary.Request(to=to), case).text.encode(errors="replace")
            attachment = Attachment(f"{file.name}.summary.{to}", _MEDIA[to], page)
        else:
            attachment = Attachment(file.name, "application/octet-stream", _file(file))
        unsaid = private.warning(file, case.connection) if server or not with_summary else None
    if unsaid:
        say(unsaid)
    if server:
        text += f"\n{_uploaded(_file(file), server, issue, dry_run=dry_run)}\n"
    if dry_run:
        for line in sender.plan(issue, text, attachment):
            sys.stdout.write(safe(line) + "\n")
        sys.stdout.write(f"\n{text}")
        return
    place = sender.attach(issue, text, attachment)
    sys.stdout.write(f"{safe(attachment.name)} ({attachment.size_bytes:,} bytes) is attached: {safe(place)}\n")


def _file(file: Path) -> Path:
    """Return the capture, which must be one file."""
    if not file.is_file():
        raise PerfcaseError(
            "usage", f"{file}: a folder cannot be attached", "name the .perfcase file, or use --summary"
        )
    return file


def _findings_text(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """Return the findings, one per line. Names in them are untrusted: control characters and line breaks are removed."""
    have_findings(connection)
    rows = connection.execute("SELECT severity, title, subject, message FROM finding").fetchall()
    lines = [
        f"- {severity}: {title} ({subject}): {message}" for severity, title, subject, message in rows[:_FINDINGS_MAX]
    ]
    if len(rows) > _FINDINGS_MAX:
        lines.append(f"- and {len(rows) - _FINDINGS_MAX} more: perfcase findings {name}")
    head = f"perfcase: {name}: " + (plural(len(rows), "finding") if rows else "no finding")
    return "\n".join([safe(head), *map(safe, lines)]) + "\n"


def _uploaded(file: Path, server: str, ticket: str, *, dry_run: bool) -> str:
    """Upload the capture to a server and return the link to it."""
    from perfcase.case.store import import_core
    from perfcase.server_client.client import Client

    client = Client(server)
    capture_id = (
        import_core().hash_file(str(file)) if dry_run else client.upload(file, ticket=ticket, warn=False)["capture_id"]
    )
    return f"{client.url}/#/c/{capture_id}/overview"
