"""Figures that do not belong to the filter in the address are never shown as if they did: they are dim, and the page says that it loads."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from tests.web.chromium import CTRL, Page
from tests.web.conftest import Site

SEEN = """(() => {
  const isShown = (one) => one.checkVisibility({checkOpacity: true, checkVisibilityCSS: true});
  const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  const found = new Set();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const at = node.parentElement;
    if (!/[0-9]/.test(node.data) || at.closest('[aria-busy=true] > .fresh-figures, .editor, form, .visually-hidden') || !isShown(at)) continue;
    found.add(node.data.trim());
  }
  for (const one of document.querySelectorAll('main canvas'))
    if (isShown(one) && !one.closest('[aria-busy=true]'))
      found.add('picture ' + [...one.toDataURL()].reduce((sum, char) => (31 * sum + char.charCodeAt(0)) | 0, 0));
  return [...found];
})()"""
"""Texts with figures, and pictures, that stand at full strength."""
BUSY = "document.querySelectorAll('main [aria-busy=true] > .fresh-figures').length"
CALM = f"{BUSY} === 0 && !document.querySelector('main .waiting')"
PAGES = {
    "threads": ("c/{x86_64}/threads", "thread=hog"),
    "views": ("c/{x86_64}/views?view=thread_time", "thread=hog"),
    "a part": ("c/{x86_64}/views?view=run_queue_latency", "window=6s..9s"),
    "blame": ("c/{x86_64}/views?view=blame", "thread=hog"),
    "system calls": ("c/{x86_64}/syscalls", "process=hog"),
    "histograms": ("c/{x86_64}/histograms", "window=6s..9s"),
    "flame graph": ("c/{x86_64}/flame", "thread=hog"),
    "off CPU": ("c/{x86_64}/offcpu", "thread=hog"),
    "difference": ("diff?a={tcp}&b={pipe}&as=flame&counted=off", "thread=order-client"),
    "what changed": ("diff?a={tcp}&b={pipe}&view=thread_time", "thread=order-client"),
    "time line": ("c/{tcp}/timeline", "process=order-client"),
    "overview": ("c/{tcp}/overview", "window=2s..3s"),
    "report": ("c/{x86_64}/report", "thread=hog"),
    "history": ("history?view=cpu_utilization&measure=busy_ratio", "ticket=OPS-17"),
    "captures": ("captures", "ticket=OPS-17"),
    "SQL": ("sql?capture={x86_64}&sql=" + quote("SELECT comm, tid, on_cpu_ns FROM thread_time"), "thread=hog"),
}
"""Pages with figures, and what an address says more that changes them."""


def at_rest(page: Page, shown: str) -> set[str]:
    """What stands at full strength once nothing is awaited, and nothing is drawn any more."""
    before = None
    while True:
        page.until(f"{CALM} && {SEEN}.length > 0")
        now = page.see(SEEN)
        if now == before:
            assert now, shown
            return set(now)
        before = now
        page.see("new Promise((done) => setTimeout(done, 250))")


@pytest.mark.parametrize("name", PAGES)
def test_figures_of_another_filter_are_dim(name: str, page: Page, site: Site) -> None:
    path, more = PAGES[name]
    path = path.format(**site.ids)
    narrowed = f"{path}{'&' if '?' in path else '?'}{more}"
    page.open("about:blank")
    # The answers that are waited for are those of an address that this browser has not seen yet.
    page.open(site.at(path))
    before = at_rest(page, path)
    with page.hold("*/v1/*"):
        # In the very first picture that has the new address: not after the effects of that picture.
        first = page.see(
            "new Promise((done) => { addEventListener('hashchange', () => requestAnimationFrame(() => done("
            f"{SEEN})), {{once: true}}); location.hash = {json.dumps('#/' + narrowed)}; }})"
        )
        page.see("new Promise((done) => setTimeout(done, 100))")
        held = page.see(SEEN)
        assert page.see(BUSY) > 0, "old figures stay in sight"
        assert (
            page.see("getComputedStyle(document.querySelector('main [aria-busy=true] > .fresh-figures')).opacity")
            < "0.6"
        )
        said = page.see("document.querySelector('main .fresh-note').innerText")
        page.screenshot(f"old-{name.replace(' ', '-').lower()}")
    after = at_rest(page, narrowed)
    # What stood at full strength all the time is true of the new filter, too.
    assert set(first) - after == set(), "the first picture"
    assert set(held) - after == set()
    assert said.startswith(("Loading", "Running"))
    assert before != after, "the filter changes what is shown"
    page.problems.clear()


def run(page: Page, query: str) -> None:
    """Write a query over what the editor has, and run it."""
    shadow = "document.querySelector('.editor').shadowRoot"
    # No list of completions that opened late lies over it.
    page.click(".editor")
    page.until(f"{shadow}.activeElement !== null")
    page.press("a", CTRL)
    page.type(query)
    page.until(f"{shadow}.querySelector('.cm-content').innerText === {query!r}")
    page.press("Enter", CTRL)


def test_rows_of_the_query_before_a_cancelled_one_are_dim(page: Page, site: Site) -> None:
    page.open("about:blank")
    page.open(site.at(f"sql?capture={site.ids['x86_64']}&sql={quote('SELECT tid FROM thread ORDER BY tid')}"))
    before = at_rest(page, "sql")
    assert any("rows in" in text for text in before)
    page.until("document.querySelector('.editor[data-completes]')")
    run(page, "SELECT count(*) FROM range(1000000) a, range(1000000) b, range(1000) c")
    page.has("Running", ".fresh-note")
    page.click("button", "Cancel")
    page.has("Cancelled: you stopped this query before it had an answer. Run asks it again", "main.sql .note")
    page.has("Rows of the query before", ".fresh-note")
    assert page.see(SEEN) == []
    assert (
        page.see("[...document.querySelectorAll('main button')].filter((one) => one.innerText === 'csv').length") == 0
    )
    page.screenshot("sql-cancelled")
    # The next one that has an answer is shown as it should be.
    run(page, "SELECT count(*) AS thread_count FROM thread")
    page.until(f"{CALM} && document.querySelectorAll('.table tbody tr').length === 1")
    assert page.see("document.querySelector('main.sql .note')") is None
