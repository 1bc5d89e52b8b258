"""The summary as one HTML page: it opens from a mail, loads nothing, and runs no script but the flame graph's.

Names from captures are hostile. Every text passes through ``_text``; besides, a content security policy lets the browser run
exactly the one script whose hash it names.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb
from perfcase.report.document import Block, Check, Fact, Finding, Line, Section, Table
from perfcase.report.page import Page
from perfcase.report.printer import command_of
from perfcase.report.writer import sections
from perfcase.stacks.fetching import choose_event, off_cpu_stacks, sample_stacks
from perfcase.stacks.flamegraph import SCRIPT, FlameGraph
from perfcase.summary import missing, notes
from perfcase.text import count, safe, shorten

SIZE_MAX = 1_000_000
"""Bytes of a page: what a mail or a ticket takes."""

_FRAMES_MAX = 2000
_TEXT_MAX = 2000
"""Characters of one text: a note or a name may be of any length."""
_NOT_IDLE = "coalesce(tid, -1) <> 0"
_CLASSES = {"quiet": "dim", "warning": "warning", "critical": "critical"}


@dataclass(frozen=True)
class _Picture:
    """A flame graph, as another block of a section."""

    graph: FlameGraph


def write_html(connection: duckdb.DuckDBPyConnection, name: str, written_down: Sequence[notes.Note] = ()) -> str:
    """Return the summary of the capture ``name``; the pictures leave out as much as it takes to stay below SIZE_MAX."""
    first, last = Page(connection), Page(connection)
    notes.write(first, written_down)
    missing.write(last)
    written = [*first.sections, *sections(connection, in_full=True), *last.sections]
    text = ""
    frames = _FRAMES_MAX
    while frames:
        text = _page(name, written, _pictures(connection, frames))
        if len(text.encode("utf-8", "replace")) < SIZE_MAX:
            return text
        frames //= 2
    return text


def _pictures(connection: duckdb.DuckDBPyConnection, frames: int) -> list[Section]:
    """Return where CPU time goes and where threads wait, the idle tasks left out."""
    page = Page(connection)
    page.heading("Flame graph: where CPU time goes")
    try:
        event, unit = choose_event(connection, None)
    except PerfcaseError:
        page.missing("CPU samples", "function_profile")
    else:
        stacks = sample_stacks(connection, event, _NOT_IDLE)
        _draw(page, FlameGraph(stacks, title=event, unit=unit, frames_max=frames, icicle=True))
        page.line(f"Samples of {event}, the idle tasks' left out. Callers are above what they call.", "quiet")
        page.command(f'flamegraph -o on-cpu.svg --where "{_NOT_IDLE}"')
    page.heading("Flame graph: where threads wait")
    if page.has_rows("off_cpu_by_stack"):
        stacks = off_cpu_stacks(connection, _NOT_IDLE)
        _draw(page, FlameGraph(stacks, title="time off the CPU", unit="ns", frames_max=frames // 2, icicle=True))
        page.command("flamegraph --off-cpu -o off-cpu.svg")
    else:
        page.missing("Context switches", "off_cpu_by_stack")
    return page.sections


def _draw(page: Page, graph: FlameGraph) -> None:
    for note in graph.notes:
        page.line(note)
    page.put(_Picture(graph))  # type: ignore[arg-type] - a block of this page only


def _page(name: str, written: Sequence[Section], drawn: Sequence[Section]) -> str:
    content, nav = "", ""
    for letter, parts in (("s", written), ("f", drawn)):
        for number, section in enumerate(parts, 1):
            content += f'<h2 id="{letter}{number}">{_text(section.title)}</h2>' + "".join(
                _block(block, name) for block in section.blocks
            )
            nav += f'<a href="#{letter}{number}">{_text(section.title)}</a>'
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>perfcase summary: {_text(name)}</title><style>{_STYLE}</style></head><body>"
        f"<header><h1>perfcase summary: {_text(name)}</h1><nav>{nav}</nav></header>"
        f"<main>{content}</main></body></html>\n"
    )


def _block(block: Block | _Picture, name: str) -> str:
    if isinstance(block, _Picture):
        return f'<div class="wide picture">{block.graph.svg(bare=True)}</div>'
    if isinstance(block, Line):
        return _line(block.text, block.tone, block.indent)
    if isinstance(block, Fact):
        return f'<p class="fact"><b>{_text(block.label)}</b> <span>{_text(block.text)}</span></p>'
    if isinstance(block, Check):
        kind = f" {_CLASSES[block.tone]}" if block.tone in _CLASSES else ""
        view = f"<code>↳ {_text(block.view)}</code>"
        return f'<p class="fact{kind}"><b>{_text(block.tool)}</b> <span>{_text(block.text)} {view}</span></p>'
    if isinstance(block, Table):
        return _table(block)
    shown = f'<p class="dim">↳ <code>{_text(command_of(block, name))}</code></p>'
    return _finding(block) + shown if isinstance(block, Finding) else shown


def _line(text: str, tone: str = "", indent: int = 0) -> str:
    if not text.strip():
        return ""
    kind = f' class="{_CLASSES[tone]}"' if tone in _CLASSES else ""
    return f'<p{kind} style="margin-left:{indent / 5}em">{_text(text.strip())}</p>'


def _finding(block: Finding) -> str:
    further = 2 if block.follows_from else 0
    lines = [_line(f"{block.severity:<10}{block.heading}", block.severity, further)]
    lines += [_line(f"{subject}: {message}", indent=further + 10) for subject, message in block.subjects]
    if block.more_count:
        lines.append(_line(f"and {count(block.more_count)} more (view finding)", indent=further + 10))
    return "".join([*lines, *(_line(f"{label}: {text}", indent=further + 10) for label, text in block.advice)])


def _table(table: Table) -> str:
    kinds = [' class="left"' if column.left else "" for column in table.columns]
    heads = (f'<th scope="col"{kind}>{_text(c.heading)}</th>' for c, kind in zip(table.columns, kinds, strict=True))
    rows = (
        "".join(
            f"<td{kind}>{_text(c.cut(cell.text, c.limit))}</td>"
            for c, cell, kind in zip(table.columns, row, kinds, strict=True)
        )
        for row in table.rows
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{"".join(heads)}</tr></thead><tbody>{body}</tbody></table></div>'


def _text(text: str) -> str:
    return escape(shorten(safe(text), _TEXT_MAX))


_STYLE = """
:root{color-scheme:light dark;--ink:#1a1c20;--dim:#5a6270;--line:#d5d9e0;--paper:#fff;--shade:#f3f5f8;--red:#b00020;--amber:#8a5200}
@media (prefers-color-scheme:dark){:root{--ink:#e4e6ea;--dim:#9aa3b2;--line:#3a4049;--paper:#16181d;--shade:#20242b;
--red:#ff7a85;--amber:#f0b45a}}
body{margin:0 auto;max-width:76rem;padding:0 1rem 3rem;background:var(--paper);color:var(--ink);
font:15px/1.45 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.4rem;margin:1rem 0 .5rem}
h2{font-size:1.1rem;margin:2rem 0 .5rem;padding-bottom:.2rem;border-bottom:1px solid var(--line)}
p{margin:.3rem 0}.dim{color:var(--dim)}.critical{color:var(--red);font-weight:bold}.warning{color:var(--amber)}
nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.9rem}a{color:inherit}
code{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;color:var(--dim)}
.fact{display:flex;flex-wrap:wrap;gap:0 .8rem}.fact b{min-width:7rem;font-weight:600}.fact span{flex:1 1 16rem}
.wide{overflow-x:auto;margin:.4rem 0}
table{border-collapse:collapse;font-size:.86rem;font-variant-numeric:tabular-nums}
th,td{padding:.15rem .7rem .15rem 0;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
th{color:var(--dim);font-weight:600}.left{text-align:left}
tbody tr:hover{background:var(--shade)}
.picture{max-height:80vh;overflow-y:auto;border:1px solid var(--line)}
@media print{body{max-width:none;font-size:11px}nav{display:none}.picture{max-height:none;overflow:visible}.wide{overflow:visible}
h2{break-after:avoid}tr{break-inside:avoid}th,td{white-space:normal}}
@media (max-width:32rem){body{font-size:14px;padding:0 .6rem 2rem}.fact b{min-width:5rem}}
"""
