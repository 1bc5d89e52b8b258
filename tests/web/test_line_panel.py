"""The panel below the time line: waits and descriptors of what is chosen have the figures of the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest

from perfcase.text import duration
from tests.api.conftest import SAMPLES
from tests.support.cli import perfcase
from tests.support.imports import placed
from tests.web.chromium import Page
from tests.web.conftest import Site, rows
from tests.web.line import opened, param, settled

COLUMNS = {
    "blame_by_comm": ["wait_ns", None, "wait_count", "wait_max_ns", "comm", "work", "call", "cause", "on_comm", "on_call", "on_target"],
    "blame_part": ["duration_ns", None, "comm", None, "call", "target", "due", "waker_comm"],
    "off_wake": ["off_cpu_ns", "sleep_ns", "sleep_count", "off_cpu_max_ns", "comm", "waker_comm"],
    "syscall_by_fd": ["comm", None, "name", None, "kind", "target", "peer", "call_count", "error_count", "duration_total_ns"],
}  # fmt: skip
"""What is compared: the first columns; None: a number that is written otherwise."""
TABLE = "[...document.querySelectorAll('.line-panel tbody tr')].map((one) => [...one.cells].map((cell) => cell.innerText.trim()))"


OPEN = "document.querySelector('.line-panel .view-table [role=region]')?.getAttribute('aria-label') === '{view}'"


def written(name: str, value: object) -> str:
    if value is None:
        return "–"
    return duration(value) if name.endswith("_ns") else f"{value:,}" if isinstance(value, int) else str(value)


def compared(page: Page, view: str, wanted: list[dict]) -> None:
    """The rows on the page, from the first one, are those of the command line."""
    names = COLUMNS[view]
    page.until(OPEN.format(view=view))
    settled(page)
    shown = page.see(TABLE)
    shown = [row for row in shown if len(row) > len(names)]
    assert shown
    expected = [[name and written(name, row[name]) for name in names] for row in wanted[: len(shown)]]
    assert [[name and cell for name, cell in zip(names, row, strict=False)] for row in shown] == expected


@pytest.mark.parametrize(
    ("panel", "by", "view", "order"),
    [
        ("waits", None, "blame_by_comm", None),
        ("waits", "wait", "blame_part", "duration_ns DESC"),
        ("waits", "sleep", "off_wake", None),
        ("descriptors", None, "syscall_by_fd", None),
    ],
)
@pytest.mark.parametrize("chosen", ["thread", "process", "all"])
def test_the_figures_are_those_of_the_command_line(
    chosen: str, panel: str, by: str | None, view: str, order: str | None,
    page: Page, site: Site, client: httpx.Client, tmp_path: Path,
) -> None:  # fmt: skip
    capture = site.ids["tcp"]
    (thread, *_) = rows(client, capture, "thread_time", order="on_cpu_ns DESC, utid", process="order-client")
    pick = {"thread": f"t:{thread['utid']}", "process": f"p:{thread['pid']}", "all": None}[chosen]
    asked = {"window": "2s..3s", "pick": pick, "panel": panel, "by": by}
    opened(
        page,
        site.at(f"c/{capture}/timeline?{urlencode({key: value for key, value in asked.items() if value})}"),
    )
    only = {"thread": ["--only", f"thread={thread['tid']}"], "process": ["--only", f"process={thread['pid']}"], "all": []}[chosen]  # fmt: skip
    file = placed(SAMPLES / "d-nagle" / "tcp.perfcase", tmp_path)
    done = perfcase("view", view, file, "--only", "window=2s..3s", *only, "-n", 200, "-f", "json",
                   *(["--order", order] if order else []))  # fmt: skip
    assert done.returncode == 0, done.stderr
    compared(page, view, json.loads(done.stdout))


def test_waits_and_descriptors_are_walked_by_their_tabs(page: Page, site: Site, look: Callable) -> None:
    capture = site.ids["tcp"]
    opened(page, site.at(f"c/{capture}/timeline?window=2s..3s"))
    page.click(".line-tabs button", "Waits")
    page.until("location.hash.includes('panel=waits')")
    page.has("What threads waited for", ".line-panel")
    settled(page)
    look("line-panel-waits", whole=True)
    # Another way to see them stays in the panel, with its condition.
    page.click(".line-panel .segments a", "One by one")
    page.until(OPEN.format(view="blame_part"))
    assert page.see("location.hash.includes('/timeline?')")
    page.fill(".line-panel .where input", "kind = 'peer'")
    page.press("Enter")
    page.until("location.hash.includes('where=')")
    settled(page)
    address = page.see("location.href")
    page.click(".line-tabs a")
    page.until("location.hash.includes('/views?')")
    assert param(page, "view") == "blame_part"
    assert param(page, "window") == "2s..3s"
    # A condition on the columns of one view is none on those of another.
    opened(page, address)
    page.click(".line-tabs button", "Descriptors")
    page.until(OPEN.format(view="syscall_by_fd"))
    assert param(page, "where") is None
    settled(page)
    look("line-panel-descriptors", whole=True)
    # A link holds the tab.
    opened(page, page.see("location.href"))
    page.until(OPEN.format(view="syscall_by_fd"))
    page.click(".line-panel .segments a", "By the other end")
    page.until(OPEN.format(view="peer_wait"))
    page.click(".line-tabs a")
    page.until("location.hash.includes('/syscalls?')")
    assert param(page, "by") == "peers"


def test_a_capture_without_waits_says_what_would_record_them(page: Page, site: Site, client: httpx.Client) -> None:
    capture = site.ids["x86_64"]
    (told,) = rows(client, capture, "view_coverage", where="view_name = 'syscall_by_fd'")
    opened(page, site.at(f"c/{capture}/timeline?panel=descriptors&window=2s..2.000001s"))
    page.has("No rows.", ".line-panel")
    assert told["view_name"] == "syscall_by_fd"
