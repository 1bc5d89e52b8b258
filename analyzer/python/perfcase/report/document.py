"""What a report is made of: sections of lines, facts and tables. One renderer prints it, others make HTML and JSON of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from perfcase.text import count, duration, ratio, safe, shorten, size

Format = Callable[[Any], str]
Tone = Literal["", "quiet", "note", "warning", "critical"]
"""How much a text matters."""

FORMATS: dict[str, Format] = {
    "ns": duration,
    "bytes": size,
    "bytes/s": size,
    "count": count,
    "1/s": count,
    "ratio": ratio,
}
"""How a value of a unit is written. The heading of a column says "per second"."""
_KEYS = {"view": "view_name", "thread": "tid", "process": "pid"}
"""The column of a view that has what a link leads to."""


@dataclass(frozen=True)
class Link:
    """Where a reader goes on from a text: a view with a filter, a thread, a process or a finding."""

    kind: Literal["view", "thread", "process", "finding"]
    to: str | int
    """The name of the view or finding, the tid or the pid."""
    where: str = ""
    order: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as values of JSON, without what is empty."""
        return _filled({self.kind: self.to, "where": self.where, "order": self.order})


@dataclass(frozen=True)
class Cell:
    """A value of a table: with its unit, and as a reader sees it."""

    value: Any
    unit: str | None = None
    text: str = ""
    link: Link | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as values of JSON. NaN and infinities are null, as unknown values are."""
        value = None if isinstance(self.value, float) and not math.isfinite(self.value) else self.value
        link = self.link.to_dict() if self.link else None
        return {"value": value, "text": self.text, **_filled({"unit": self.unit, "link": link})}


@dataclass(frozen=True)
class Column:
    """A column of a small table: its heading, the unit of its values, and whether it may be cut to fit.

    ``write``: how to write a value, where its unit does not say it; ``tail``: of what is cut the end stays.
    """

    heading: str
    unit: str | None = None
    write: Format | None = None
    left: bool = False
    limit: int | None = None
    tail: bool = False
    link: Literal["view", "thread", "process"] | None = None
    """What a cell leads to: what its row has the key of."""

    def cell(self, value: object, row: Mapping[str, Any]) -> Cell:
        """Return a value of a row as a cell of this column. A cell stays what it is."""
        if isinstance(value, Cell):
            return value
        write = self.write or FORMATS.get(self.unit or "", str)
        key = row.get(_KEYS[self.link]) if self.link else None
        link = None if self.link is None or key is None else Link(self.link, key)
        return Cell(value, self.unit, safe("-" if value is None else write(value)), link)

    def cut(self, text: str, limit: int | None) -> str:
        """Return the text in at most ``limit`` characters."""
        if limit is None or len(text) <= limit:
            return text
        return "…" + text[len(text) - limit + 1 :] if self.tail else shorten(text, limit)


@dataclass(frozen=True)
class Line:
    """A line of text."""

    text: str
    tone: Tone = ""
    indent: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return it as values of JSON."""
        return {"kind": "line", "text": self.text, **_filled({"tone": self.tone})}


@dataclass(frozen=True)
class Fact:
    """A label and what it says."""

    label: str
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as values of JSON."""
        return {"kind": "fact", "label": self.label, "text": self.text}


@dataclass(frozen=True)
class Check:
    """An entry of the checklist: a tool, its result, the view behind it."""

    tool: str
    text: str
    view: str
    tone: Tone = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as values of JSON."""
        tone = _filled({"tone": self.tone})
        return {"kind": "check", "tool": self.tool, "text": self.text, "link": {"view": self.view}, **tone}


@dataclass(frozen=True)
class Finding:
    """A rule that fired: what is wrong, where, and what to do."""

    name: str
    severity: str
    title: str
    subjects: Sequence[tuple[str, str]]
    """What it fired for, and with which figures."""
    more_count: int
    """How many subjects are left out."""
    advice: Sequence[tuple[str, str]]
    """What it means, and what to look at next; none in a short report."""
    evidence: str
    """The query that shows what is behind it."""
    follows_from: str | None = None
    """The rule whose finding it is a consequence of, and stands behind."""

    @property
    def heading(self) -> str:
        """The title, as it reads behind the cause."""
        return f"follows from it: {self.title}" if self.follows_from else self.title

    def to_dict(self) -> dict[str, Any]:
        """Return it as values of JSON."""
        return {
            "kind": "finding",
            "severity": self.severity,
            "title": self.title,
            "subjects": [{"subject": subject, "message": message} for subject, message in self.subjects],
            "more_count": self.more_count,
            **{label.lower(): text for label, text in self.advice},
            **_filled({"follows_from": self.follows_from}),
            "evidence": self.evidence,
            "link": {"finding": self.name},
        }


@dataclass(frozen=True)
class Table:
    """A small table."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]

    def to_dict(self) -> dict[str, Any]:
        """Return it as values of JSON."""
        columns = [{"heading": c.heading, **_filled({"unit": c.unit, "is_text": c.left})} for c in self.columns]
        return {"kind": "table", "columns": columns, "rows": [[cell.to_dict() for cell in row] for row in self.rows]}


@dataclass(frozen=True)
class Source:
    """The view behind the last lines or table."""

    link: Link

    def to_dict(self) -> dict[str, Any]:
        """Return it as values of JSON."""
        return {"kind": "source", "link": self.link.to_dict()}


@dataclass(frozen=True)
class Command:
    """A command that shows more."""

    words: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as values of JSON."""
        return {"kind": "command", "text": self.words}


Block = Line | Fact | Check | Finding | Table | Source | Command


@dataclass
class Section:
    """A part of the report with a heading."""

    title: str
    name: str = ""
    blocks: list[Block] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return it as values of JSON, without empty lines."""
        blocks = [block.to_dict() for block in self.blocks if block != Line("")]
        return {"name": self.name, "title": self.title, "blocks": blocks}


def to_dict(file: str, sections: Iterable[Section]) -> dict[str, Any]:
    """Return a report about FILE as values of JSON: ``schema/report.schema.json``."""
    return {
        "format": "perfcase-report",
        "format_version": "1.0",
        "file": file,
        "sections": [s.to_dict() for s in sections],
    }


def _filled(entries: dict[str, Any]) -> dict[str, Any]:
    """Return the entries that say something."""
    return {name: value for name, value in entries.items() if value not in ("", None, False)}
