"""Every dialog: axe-core in both schemes and in two widths; the focus goes into it, and back to what opened it."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

from tests.api.conftest import start
from tests.web.chromium import ROOT, Page
from tests.web.conftest import CALM, Site
from tests.web.test_accessible import violations

BOARD = "history?view=cpu_utilization&measure=busy_ratio"
IN = "document.querySelector('dialog')?.open && document.querySelector('dialog').contains(document.activeElement)"
DIALOGS = {
    "keys": ("captures", ["[aria-label=Keys]"]),
    "details of a capture": ("captures", [".list tbody button >> Details"]),
    "delete a capture": ("c/{tcp}/overview", [".card .danger"]),
    "a row": ("c/{tcp}/views?view=thread_time", ["main .table tbody tr:not([aria-hidden]) td"]),
    "a thread": ("c/{tcp}/threads", ["main .table tbody tr:not([aria-hidden]) td"]),
    "a row of SQL": ("sql?capture={tcp}&sql=SELECT%20comm%20FROM%20thread", ["main .table tbody tr:not([aria-hidden]) td"]),
    "a row of evidence": ("c/{tcp}/overview", [".finding button >> Evidence", ".finding .table tbody tr:not([aria-hidden]) td"]),
    "a difference": ("diff?a={tcp}&b={pipe}", ["main .table tbody tr:not([aria-hidden]) td"]),
    "a row of a history": (BOARD, ["main .table tbody tr:not([aria-hidden]) td"]),
    "save a query": ("sql?capture={tcp}&sql=SELECT%20comm%20FROM%20thread", ["main button >> Save"]),
    "delete a query": ("sql?capture={tcp}", ["summary >> Saved queries", "[aria-label='Delete of <dialogs>']"]),
    "a new board": (BOARD, ["summary >> Add to a board", ".menu button >> A new board …"]),
    "rename a board": ("history?board={board}", ["main button >> Rename"]),
    "delete a board": ("history?board={board}", ["main button >> Delete"]),
    "revoke a token": ("admin", [".list tbody button >> Revoke"]),
    "a new token": ("admin", ["button >> Make a token"]),
}  # fmt: skip
"""Where it is, and what is clicked; behind `>>` stands a text that is in the element."""
FILES = {
    "admin.tsx", "board-menu.tsx", "board.tsx", "capture-card.tsx", "captures.tsx", "dialog.tsx", "diff.tsx", "history.tsx", "keys.tsx",
    "row-detail.tsx", "save-dialog.tsx", "saved.tsx", "sql-rows.tsx", "sql.tsx", "thread-links.tsx", "threads.tsx", "view-table.tsx",
    "upload-dialog.tsx",  # Opened and judged in test_uploads.py.
}  # fmt: skip
"""Where dialogs are."""


@pytest.fixture(scope="module")
def ids(site: Site, client: httpx.Client) -> dict[str, str]:
    """The captures, a board, a query and a token."""
    board = client.post("/v1/boards", json={"name": "of <dialogs>", "figures": [BOARD.partition("?")[2]]}).json()
    client.post("/v1/queries", json={"name": "of <dialogs>", "sql": "SELECT 1"})
    client.post("/v1/tokens", json={"name": "of <dialogs>", "role": "viewer"})
    return {**site.ids, "board": board["board_id"]}


def click(page: Page, target: str) -> None:
    selector, _, text = target.partition(" >> ")
    page.until(f"document.querySelector({selector!r})")
    page.click(selector, text or None)


@pytest.mark.parametrize("name", DIALOGS)
def test_a_dialog(name: str, page: Page, site: Site, ids: dict[str, str]) -> None:
    path, steps = DIALOGS[name]
    page.open("about:blank")
    page.open(site.at(path.format(**ids)))
    page.until(CALM)
    if name == "a new token":
        page.fill("form input[name=name]", "another")
    *before, last = steps
    for step in before:
        click(page, step)
        page.until(CALM)
    page.see("addEventListener('click', () => window.opener_ ??= document.activeElement, true); 0")
    click(page, last)
    page.until(IN)
    found = set()
    for width in (1280, 400):
        for scheme in ("light", "dark"):
            page.resize(width)
            page.scheme(scheme)
            page.until(CALM)
            page.see("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 200)))")
            found |= {f"{width} {scheme}: {each}" for each in violations(page)}
            page.screenshot(f"dialog-{name.replace(' ', '-')}-{width}-{scheme}")
        assert page.overflow() <= 0
    page.scheme("light")
    page.resize(1280)
    assert sorted(found) == []
    # Tab stays in it.
    for _ in range(12):
        page.press("Tab")
        assert page.see(
            "document.activeElement === document.body || document.querySelector('dialog').contains(document.activeElement)"
        )
    page.press("Escape")
    page.until("!document.querySelector('dialog')")
    # To what opened it, or to the menu that it was in.
    page.until("document.activeElement === opener_ || document.activeElement.matches('summary')")
    assert page.see("document.activeElement !== document.body")


def test_the_focus_goes_back_from_a_button_too(page: Page, site: Site, ids: dict[str, str]) -> None:
    page.open("about:blank")
    page.open(site.at(f"history?board={ids['board']}"))
    page.until(CALM)
    page.click("main button", "Delete")
    page.until(IN)
    page.click("dialog button", "Cancel")
    page.until("!document.querySelector('dialog') && document.activeElement.innerText === 'Delete'")


def test_no_dialog_is_forgotten() -> None:
    """Each place of the page that opens one is in the list above; they share one part."""
    sources = [*(ROOT / "api" / "web" / "src").rglob("*.tsx")]
    uses = re.compile(r"<(?:Dialog|Confirm|SaveDialog|RowDetail|ThreadLinks)\b")
    assert {file.name for file in sources if uses.search(file.read_text())} == FILES
    assert [file.name for file in sources if "<dialog" in file.read_text()] == ["dialog.tsx"]


def test_signing_in(page: Page, tmp_path: Path) -> None:
    closed = start(tmp_path / "closed")
    try:
        page.open("about:blank")
        page.open(f"http://127.0.0.1:{closed.port}/")
        page.until("document.querySelector('#token') === document.activeElement")
        found = set()
        for state in ("asked", "refused"):
            if state == "refused":
                page.type("pc_wrong")
                page.press("Enter")
                page.has("not a valid token", ".problem")
            for width in (1280, 400):
                for scheme in ("light", "dark"):
                    page.resize(width)
                    page.scheme(scheme)
                    page.see("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 200)))")
                    found |= {f"{state} {width} {scheme}: {each}" for each in violations(page)}
                assert page.overflow() <= 0
        assert sorted(found) == []
        # What is wrong is said where the field is, and the field is still the one to write in.
        assert page.see("document.activeElement.id") == "token"
    finally:
        page.scheme("light")
        page.open("about:blank")
        page.problems.clear()
        page.requests.clear()
        closed.stop()
