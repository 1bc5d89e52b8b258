"""Reads `perf report --stdio -t '|'` as tools.run asks for it: one section per event."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

EVENT = re.compile(r"^# Samples: (?P<count>\S+)\s+of events? '(?P<name>[^']*)'")
COUNT = re.compile(r"^# Event count \(approx\.\): (?P<count>\d+)")
SYMBOL = re.compile(r"^\[(?P<level>.)\] (?P<name>.*)$")


@dataclass(frozen=True)
class Row:
    """A row: `children_percent` is None in the --no-children form and for events without callchains.

    An unnamed symbol is its address.
    """

    children_percent: float | None
    self_percent: float
    sample_count: int
    period: int
    dso: str
    level: str
    symbol: str
    address: int | None


@dataclass
class Section:
    """All rows of one event; `period` is perf's own total."""

    event: str
    period: int = 0
    rows: list[Row] = field(default_factory=list)


def row(line: str) -> Row:
    """`12.34% | [1.00% |] 5 | 500 | dso |[k] symbol`; a dso or symbol may hold no separator."""
    cells = [cell.strip() for cell in line.split("|")]
    if len(cells) not in (5, 6):
        raise ValueError(f"not a row of perf report: {line!r}")
    # Without callchains perf prints N/A for the share with callees.
    shares = [None if cell == "N/A" else float(cell.rstrip("%")) for cell in cells[:-4]]
    found = SYMBOL.match(cells[-1])
    if found is None:
        raise ValueError(f"not a symbol: {line!r}")
    name = found["name"].strip()
    # printf's %#016llx leaves out the prefix of zero.
    unnamed = re.fullmatch(r"0x[0-9a-f]+|0{16}", name)
    return Row(
        shares[0] if len(shares) == 2 else None,
        shares[-1],
        int(cells[-4]),
        int(cells[-3]),
        cells[-2],
        found["level"],
        name,
        int(name, 16) if unnamed else None,
    )


def sections(text: str) -> list[Section]:
    """The sections in the order of the text."""
    found_sections: list[Section] = []
    for line in text.splitlines():
        if line.startswith("#"):
            event = EVENT.match(line)
            if event is not None:
                found_sections.append(Section(event["name"]))
            count = COUNT.match(line)
            if count is not None:
                found_sections[-1].period = int(count["count"])
        elif line.strip():
            found_sections[-1].rows.append(row(line))
    return found_sections
