"""The report on a terminal: nothing is wider than it, and no figure is cut; figures as people read them."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from perfcase.case import query
from perfcase.report.document import Column
from perfcase.report.page import Page
from perfcase.report.printer import Printer
from perfcase.report.writer import write_report
from perfcase.text import duration, size, stretch
from tests.support.cli import fail, succeed
from tests.support.fakecase import make_case

LONG = "a function with a name that is far too long for one line of a table of figures"


@pytest.fixture(scope="module")
def case(sample: Callable[[str], Path]) -> Path:
    return sample("d-nagle/tcp")


def drawn(case: Path, width: int) -> str:
    text = io.StringIO()
    with query.connect(case) as connection:
        write_report(connection, Console(file=text, width=width, highlight=False), "x.perfcase")
    return text.getvalue()


def test_the_report_fits_a_terminal_and_loses_no_figure(case: Path) -> None:
    wide, narrow = drawn(case, 100_000), drawn(case, 80)
    too_wide = [line for line in narrow.splitlines() if len(line) > 80 and "↳ perfcase " not in line]
    assert too_wide == []
    # Numbers and percentages; tids and CPUs at the left may come again where columns go below others.
    figures = re.compile(r"(?<!\S)[\d,.]+(?!\S)")
    lost = Counter(figures.findall(wide)) - Counter(figures.findall(narrow))
    assert len(figures.findall(wide)) > 200
    assert not lost


def printed(page: Page, width: int) -> list[str]:
    text = io.StringIO()
    Printer(Console(file=text, width=width), "x").blocks(page.sections[0].blocks)
    return [line.rstrip() for line in text.getvalue().splitlines()]


def table(width: int, columns: list[Column], rows: list[list[object]]) -> list[str]:
    page = Page(None)  # type: ignore[arg-type]
    names = [str(place) for place in range(len(columns))]
    page.table(dict(zip(names, columns, strict=True)), [dict(zip(names, map(str, row), strict=True)) for row in rows])
    return printed(page, width)


def test_what_does_not_fit_goes_below_and_words_are_cut() -> None:
    words, where = Column("name", left=True, limit=90), Column("where", left=True, limit=90, tail=True)
    figures = [Column("one"), Column("two")]
    assert table(40, [words, *figures], [[LONG, 1, 2], ["b", 3, 4]]) == [
        "  name                          one two",
        "  a function with a name that …   1   2",
        "  b                               3   4",
    ]
    assert table(40, [Column("k", left=True), *figures, where], [["a", 11, 12, LONG]]) == [
        "  k one two where",
        "  a  11  12 …line of a table of figures",
    ]
    numbers = [Column("key", left=True), *(Column(f"number {n}") for n in range(5))]
    assert table(24, numbers, [["k", *range(10_000_000, 10_000_005)]]) == [
        "  key number 0 number 1",
        "  k   10000000 10000001",
        "  key number 2 number 3",
        "  k   10000002 10000003",
        "  key number 4",
        "  k   10000004",
    ]


def test_sentences_go_on_below_where_they_began() -> None:
    page = Page(None)  # type: ignore[arg-type]
    page.check("free", "one two three four five six seven", "memory")
    page.fact("kernel", "6.1.0 with\nmore than one line")
    page.line("indented text that is long: \x1b[2J", indent=4)
    assert printed(page, 40) == [
        "  free        one two three four five",
        "              six seven  ↳ memory",
        "  kernel        6.1.0 with\\nmore than",
        "                one line",
        "      indented text that is long: \\e[2J",
    ]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (duration(999.4e6), "999 ms"),
        (duration(999.7e6), "1,000 ms"),
        (duration(119.4e9), "119 s"),
        (duration(119.5e9), "2 min"),
        (duration(125e9), "2 min 5 s"),
        (duration(-125.5e9), "-2 min 6 s"),
        (duration(3599.6e9), "1 h"),
        (duration(5400e9), "1 h 30 min"),
        (duration(12_345e9), "3 h 26 min"),
        (duration(86_400e9), "24 h"),
        (duration(47.9999 * 3600e9), "2 d"),
        (duration(604_800e9), "7 d"),
        (duration(700_000e9), "8 d 2 h"),
        (duration(1e20), "1,157,407 d 10 h"),
        (duration(float("inf")), "inf s"),
        (stretch(0, 604_800e9), "0 s to 7 d"),
        (stretch(1.25e9, 1.5e9), "1.250 to 1.500 s"),
        (stretch(86_400e9, 86_401e9), "1 d 0.00 s to 1 d 1.00 s"),
        (stretch(90e9, 90_061.5e9), "90 s to 1 d 1 h 1 min 2 s"),
        (stretch(86_400e9, 86_400.1e9), "1 d 0.000 s to 1 d 0.100 s"),
        (duration(None), "-"),
        (size(1023), "1023 B"),
        (size(1023 * 1024), "1,023 KiB"),
        (size(1000 * 1024**3), "1,000 GiB"),
        (size(5000 * 1024**4), "5,000 TiB"),
    ],
)
def test_figures_have_no_exponent(written: str, expected: str) -> None:
    assert written == expected


def test_a_report_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    make_case(tmp_path / "empty.case", {})
    (tmp_path / "report.txt").write_text("before")
    (tmp_path / "folder").mkdir()
    assert fail(6, "report", tmp_path / "no.perfcase", "-o", tmp_path / "report.txt")
    assert (tmp_path / "report.txt").read_text() == "before"
    assert "cannot be written" in fail(8, "report", tmp_path / "empty.case", "-o", tmp_path / "no" / "x.txt")
    assert "cannot be written" in fail(8, "report", tmp_path / "empty.case", "-o", tmp_path / "folder")


def test_what_a_recording_of_some_processes_says(tmp_path: Path) -> None:
    """It has two of 300 threads, and of a request to a disk its end, which came in an interrupt."""
    state = {"snapshot": 0, "ts_ns": 5, "source_id": 0, "pid": 10, "comm": "java", "state": "S"}
    rows = {
        "proc_load": [
            {"ts_ns": 5, "snapshot": 0, "load_1min": 1, "load_5min": 1, "load_15min": 1, "runnable_count": 1, "thread_count": 300}
        ],
        "thread": [{"utid": n, "tid": n, "pid": 10, "comm": "java"} for n in (10, 11)],
        "proc_thread": [state | {"utid": n, "tid": n} for n in (10, 11)],
        "block_io": [{"ts_ns": 1, "device": "8,0", "operation": "read", "is_ambiguous": False, "error": 0}],
        "proc_net_counter": [
            {"snapshot": n, "ts_ns": n * 10**9, "source_id": 0, "protocol": "Tcp", "name": name, "value": n}
            for n in (0, 1) for name in ("ActiveOpens", "PassiveOpens", "InSegs", "RetransSegs", "OutSegs")
        ],
    }  # fmt: skip
    told = succeed("report", make_case(tmp_path / "x.case", rows))
    assert "top         2 threads of 300 on the host at the end: 2 sleeping  ↳ thread_census_by_state" in told
    assert (
        "  Block requests: 8,0 read 1; none of them was seen both to go to the device and to end: a recording of some"
        in told
    )
    assert "1 connection opened, 1 accepted; 1 of 1 segment sent again" in told
    rows["proc_net_counter"] = [row for row in rows["proc_net_counter"] if row["name"] != "PassiveOpens"]
    told = succeed("report", make_case(tmp_path / "y.case", rows))
    assert "1 connection opened, - accepted; 1 of 1 segment sent again" in told
