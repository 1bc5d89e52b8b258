"""What a title says is read without a mouse: by a tap and by the focus of a key, on every page, in dialogs too."""

from __future__ import annotations

import pytest

from tests.web.chromium import Page
from tests.web.conftest import CALM, Site
from tests.web.test_accessible import violations

TOLD = "document.querySelector('.told')?.innerText"
HIDDEN = """[...document.querySelectorAll('main [title]')].filter((one) =>
  !one.closest('button, a, input, select, summary, [tabindex]') && !one.matches('td, th, [aria-label]') &&
  !one.innerText.includes(one.title) && one.tagName !== 'H1').map((one) => one.outerHTML.slice(0, 200))"""
"""Titles that no key leads to, of what is no cell, no heading and says less than its title."""


def tap(page: Page, selector: str, text: str = "") -> None:
    x, y = page.point(selector, text)
    for kind, points in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
        page.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)


@pytest.mark.parametrize("width", [1280, 400])
def test_a_tap_reads_a_title(width: int, page: Page, site: Site) -> None:
    page.resize(width)
    page.open("about:blank")
    page.open(site.at(f"c/{site.ids['x86_64']}/timeline"))
    page.until(f"document.querySelector('.lanes-legend [title]') && {CALM}")
    page.see("document.querySelector('.lanes-legend').scrollIntoView({ block: 'center' })")
    for number in range(2):
        one = f"document.querySelectorAll('.lanes-legend > span[title]')[{number}]"
        tap(page, ".lanes-legend > span[title]", page.see(f"{one}.innerText"))
        page.until(f"{TOLD} === {one}.title")
        left, right, top, bottom = page.see(
            "(({left, right, top, bottom}) => [left, right, top, bottom])(document.querySelector('.told').getBoundingClientRect())"
        )
        assert 0 <= left < right <= width
        assert 0 <= top < bottom
    page.screenshot(f"title-by-tap-{width}")
    assert violations(page) == []
    # It goes with the next tap elsewhere.
    tap(page, ".line-head h2")
    page.until(f"!{TOLD}")


def test_focus_reads_a_title_and_escape_takes_it_away(page: Page, site: Site) -> None:
    page.open("about:blank")
    page.open(site.at(f"c/{site.ids['x86_64']}/flame"))
    page.until(f"document.querySelector('.flame-canvas') && {CALM}")
    # A click of a mouse shows none: that has the browser's own.
    page.click("button", "Merge recursion")
    page.until(CALM)
    assert page.see(TOLD) is None
    page.press("Tab")
    assert page.see("document.activeElement.innerText") == "Invert"
    page.until(f"{TOLD}?.startsWith('The function that ran is at the root')")
    page.press("Escape")
    page.until(f"!{TOLD}")
    page.press("Tab")
    page.press("Tab", 8)
    page.until(f"{TOLD}?.startsWith('The function that ran is at the root')")


def test_in_a_dialog_it_lies_above_it(page: Page, site: Site) -> None:
    page.open("about:blank")
    page.open(site.at(f"c/{site.ids['x86_64']}/views?view=thread_time"))
    page.until(f"document.querySelectorAll('.table tbody tr').length > 5 && {CALM}")
    page.click(".table tbody td:nth-child(2)")
    page.until("document.querySelector('dialog[open] dt[title]')")
    tap(page, "dialog dt[title]")
    page.until(f"{TOLD} === document.querySelector('dialog dt[title]').title")
    # It is in the top layer, above the dialog.
    assert page.see("document.querySelector('.told').matches(':popover-open')")
    page.screenshot("title-in-dialog")
    page.press("Escape")
    page.until(f"!{TOLD} && !document.querySelector('dialog[open]')")


def test_hostile_text_stays_text(page: Page, site: Site) -> None:
    page.open("about:blank")
    page.open(site.at(f"c/{site.ids['hostile']}/threads"))
    page.until(f"document.querySelectorAll('.table tbody tr').length > 1 && {CALM}")
    tap(page, ".table tbody [title*='onerror'], .table tbody td[title]")
    page.until(f"{TOLD}")
    assert page.see("document.querySelectorAll('.told *:not(p)').length") == 0
    assert page.see("document.title") != "hit"


def test_a_key_leads_to_every_title(page: Page, site: Site) -> None:
    capture = site.ids["x86_64"]
    shown = (
        "overview",
        "report",
        "timeline",
        "threads",
        "syscalls",
        "views?view=thread_time",
        "flame",
        "sql",
        "histograms",
    )
    for path in ("captures", "history", *(f"c/{capture}/{one}" for one in shown)):
        page.open("about:blank")
        page.open(site.at(path))
        page.until(CALM)
        assert page.see(HIDDEN) == [], path
