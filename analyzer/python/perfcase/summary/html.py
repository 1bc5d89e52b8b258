"""The summary as one HTML page: it opens from a mail, loads nothing, and runs no script but the flame graph's.

Names from captures are hostile. Every text passes through ``_text``; besides, a content security policy lets the browser run
exactly the one script whose hash it names.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from typing import Any

from rich.console import Console

from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb
from perfcase.report.page import Column, Page, written
from perfcase.report.writer import write_sections
from perfcase.stacks.fetching import choose_event, off_cpu_stacks, sample_stacks
from perfcase.stacks.flamegraph import SCRIPT, FlameGraph
from perfcase.summary import missing
from perfcase.text import safe, shorten

SIZE_MAX = 1_000_000
"""Bytes of a page: what a mail or a ticket takes."""

_FRAMES_MAX = 2000
_TEXT_MAX = 2000
"""Characters of one text: a note or a name may be of any length."""
_NOT_IDLE = "coalesce(tid, -1) <> 0"
_CLASSES = {"dim": "dim", "yellow": "warning", "bold red": "critical"}


class _HtmlPage(Page):
    """Collects HTML."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, file: str) -> None:
        super().__init__(connection, Console(quiet=True), file)
        self.parts: list[str] = []
        self.titles: list[str] = []

    def heading(self, text: str) -> None:
        self.titles.append(text)
        self.parts.append(f'<h2 id="s{len(self.titles)}">{_text(text)}</h2>')

    def line(self, text: str, style: str = "") -> None:
        if text.strip():
            indent = min(len(text) - len(text.lstrip()), 12)
            kind = f' class="{_CLASSES[style]}"' if style in _CLASSES else ""
            self.parts.append(f'<p{kind} style="margin-left:{indent / 5}em">{_text(text.strip())}</p>')

    def fact(self, label: str, value: str) -> None:
        self.parts.append(f'<p class="fact"><b>{_text(label)}</b> <span>{_text(value)}</span></p>')

    def tool(self, name: str, text: str, view: str, style: str = "") -> None:
        kind = f" {_CLASSES[style]}" if style in _CLASSES else ""
        self.parts.append(
            f'<p class="fact{kind}"><b>{_text(name)}</b> <span>{_text(text)} <code>↳ {_text(view)}</code></span></p>'
        )

    def source(self, view: str, more: str = "") -> None:
        self._code(f"perfcase view {view} {self._file}{more}")

    def query(self, sql: str) -> None:
        self._code(f'perfcase sql {self._file} "{sql}"')

    def command(self, name: str) -> None:
        self._code(f"perfcase {name} {self._file}")

    def _code(self, text: str) -> None:
        self.parts.append(f'<p class="dim">↳ <code>{_text(text)}</code></p>')

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> None:
        kinds = [' class="left"' if column.left else "" for column in columns]
        heads = (f'<th scope="col"{kind}>{_text(c.heading)}</th>' for c, kind in zip(columns, kinds, strict=True))
        self.parts.append(f'<div class="wide"><table><thead><tr>{"".join(heads)}</tr></thead><tbody>')
        for row in rows:
            cells = (f"<td{kind}>{_text(c)}</td>" for c, kind in zip(written(columns, row), kinds, strict=True))
            self.parts.append(f"<tr>{''.join(cells)}</tr>")
        self.parts.append("</tbody></table></div>")

    def picture(self, graph: FlameGraph) -> None:
        """Add a flame graph and its caption."""
        for note in graph.notes:
            self.line(note)
        self.parts.append(f'<div class="wide picture">{graph.svg(bare=True)}</div>')


def write_html(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """Return the summary of the capture ``name``; the pictures leave out as much as it takes to stay below SIZE_MAX."""
    page = _HtmlPage(connection, name)
    write_sections(page, in_full=True)
    missing.write(page)
    text = ""
    frames = _FRAMES_MAX
    while frames:
        text = _page(page, name, _pictures(connection, name, frames))
        if len(text.encode("utf-8", "replace")) < SIZE_MAX:
            return text
        frames //= 2
    return text


def _pictures(connection: duckdb.DuckDBPyConnection, name: str, frames: int) -> _HtmlPage:
    """Return where CPU time goes and where threads wait, the idle tasks left out."""
    page = _HtmlPage(connection, name)
    page.heading("Flame graph: where CPU time goes")
    try:
        event, unit = choose_event(connection, None)
    except PerfcaseError:
        page.missing("CPU samples", "function_profile")
    else:
        stacks = sample_stacks(connection, event, _NOT_IDLE)
        page.picture(FlameGraph(stacks, title=event, unit=unit, frames_max=frames, icicle=True))
        page.line(f"Samples of {event}, the idle tasks' left out. Callers are above what they call.", "dim")
        page.command(f'flamegraph -o on-cpu.svg --where "{_NOT_IDLE}"')
    page.heading("Flame graph: where threads wait")
    if page.has_rows("off_cpu_by_stack"):
        stacks = off_cpu_stacks(connection, _NOT_IDLE)
        page.picture(FlameGraph(stacks, title="time off the CPU", unit="ns", frames_max=frames // 2, icicle=True))
        page.command("flamegraph --off-cpu -o off-cpu.svg")
    else:
        page.missing("Context switches", "off_cpu_by_stack")
    return page


def _page(page: _HtmlPage, name: str, pictures: _HtmlPage) -> str:
    content = "".join(page.parts)
    drawn = "".join(pictures.parts).replace('<h2 id="s', '<h2 id="f')
    links = [(f"s{n}", title) for n, title in enumerate(page.titles, 1)]
    links += [(f"f{n}", title) for n, title in enumerate(pictures.titles, 1)]
    nav = "".join(f'<a href="#{place}">{_text(title)}</a>' for place, title in links)
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>perfcase summary: {_text(name)}</title><style>{_STYLE}</style></head><body>"
        f"<header><h1>perfcase summary: {_text(name)}</h1><nav>{nav}</nav></header>"
        f"<main>{content}{drawn}</main></body></html>\n"
    )


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
