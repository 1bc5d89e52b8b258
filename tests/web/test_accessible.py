"""Every page with axe-core: contrast, names, headings, landmarks, sizes of targets; in the dark and in a narrow window, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.scale import SCALE
from tests.web.chromium import Page
from tests.web.conftest import CALM, Site

AXE = Path(__file__).parents[2] / "api" / "web" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN = """
axe.run(document, {runOnly: RULES, rules: {"target-size": {enabled: true}}, resultTypes: ["violations"]}).then(({violations}) =>
  violations.flatMap(({id, nodes}) => nodes.map(({target, failureSummary}) => `${id}: ${target.join(" ")}: ${failureSummary}`)))
"""
PAGES = {
    "captures": "captures",
    "overview": "c/{x86_64}/overview",
    "flame": "c/{x86_64}/flame?of=do_syscall_64",
    "flame shaped": "c/{x86_64}/flame?include=do_syscall_64&collapse=libc.so.6&exclude=schedule&invert=1&merge=1&of=do_syscall_64",
    "flame over time": "c/{x86_64}/flame?as=time&table=1",
    "offcpu": "c/{x86_64}/offcpu?wakers=1",
    "time line": "c/{tcp}/timeline",
    "histograms": "c/{tcp}/histograms",
    "threads": "c/{tcp}/threads",
    "syscalls": "c/{tcp}/syscalls",
    "views": "c/{tcp}/views?view=thread_time",
    "report": "c/{x86_64}/report",
    "diff": "diff?a={tcp}&b={pipe}",
    "history": "history?view=cpu_utilization&measure=busy_ratio",
    "sql": "sql?capture={tcp}&sql=SELECT%20comm%20FROM%20thread",
    "sql-chart": "sql?capture={tcp}&sql=SELECT%20comm,%20on_cpu_ns%20FROM%20thread_time%20WHERE%20tid%20%3E%20$n&set=n%3D0&chart=bars",
    "admin": "admin",
}


def violations(page: Page) -> list[str]:
    """What axe-core finds in what is open."""
    if not page.see("typeof axe === 'object'"):
        page.see(f"{AXE.read_text()}; 0")
    return page.see(RUN.replace("RULES", repr(RULES)))


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(name: str, page: Page, site: Site) -> None:
    page.open("about:blank")
    page.open(site.at(PAGES[name].format(**site.ids)))
    found = set()
    # make test has each width and each scheme once.
    for width, scheme in ((1280, "light"), *(((1280, "dark"), (400, "light")) if SCALE >= 1 else ((400, "dark"),))):
        page.resize(width)
        page.scheme(scheme)
        page.until(CALM)
        page.see("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 300)))")
        page.until(CALM)
        found |= {f"{width} {scheme}: {each}" for each in violations(page)}
    page.scheme("light")
    assert sorted(found) == []
