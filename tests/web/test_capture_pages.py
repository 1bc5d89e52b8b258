"""The pages of one capture: overview, threads, system calls, any view, the report."""

from __future__ import annotations

import csv
import re

import httpx
import pytest

from perfcase.text import duration
from tests.web.chromium import Page
from tests.web.conftest import Site

CELLS = "[...document.querySelectorAll('.table tbody tr:not([aria-hidden])')].map((row) => [...row.cells].map((cell) => cell.innerText))"


def rows(client: httpx.Client, site: Site, name: str, view: str, **query: object) -> list[dict]:
    answer = client.get(f"/v1/captures/{site.ids[name]}/views/{view}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_overview_leads_with_what_is_wrong(page: Page, site: Site, look) -> None:
    page.open(site.at(f"c/{site.ids['tcp']}/overview"))
    page.has("delayed acknowledgement", ".finding h3")
    findings = page.see("[...document.querySelectorAll('.finding')].map((one) => one.className.split(' ')[1])")
    assert findings == ["critical"]
    page.has("59 of 60 exchanges", ".finding")
    page.has("How far to trust it", ".quality")
    page.has("could not be judged", ".not-judged")
    # What is at the top is answered first, and what only adds to the page last.
    page.until("performance.getEntriesByType('resource').some((one) => one.name.includes('cpu_utilization'))")
    said = {address.partition("?")[0].rpartition("/")[2]: priority for address, priority in page.priorities.items()}
    assert {name: said[name] for name in ("findings", "cpu_utilization", "data_quality", "finding_coverage")} == {
        "findings": "u=1", "cpu_utilization": None, "data_quality": "u=5", "finding_coverage": "u=5",
    }  # fmt: skip
    look("overview")
    page.click(".finding button", "Evidence")
    page.until("document.querySelector('.evidence .table')")
    assert page.see(f"{CELLS}.length") == 1
    page.screenshot("overview-evidence", whole=True)
    page.click(".finding a", "tcp_stalls")
    page.has("tcp_stalls", "section h2")
    page.until(f"{CELLS}.length > 10")


def test_threads_with_their_states(page: Page, site: Site, client: httpx.Client, look) -> None:
    page.open(site.at(f"c/{site.ids['x86_64']}/threads"))
    page.until(f"{CELLS}.length > 10")
    look("threads")
    first = rows(client, site, "x86_64", "thread_time", order="on_cpu_ns DESC", limit=1)[0]
    assert page.see(f"{CELLS}[0][1]") == str(first["tid"])
    widths = page.see(
        "[...document.querySelector('.state-bar').children].map((part) => part.getBoundingClientRect().width)"
    )
    total = first["on_cpu_ratio"] + first["run_queue_ratio"]
    assert widths[0] / sum(widths) == pytest.approx(first["on_cpu_ratio"] / total, abs=0.02), "a pixel of a bar"
    page.click(".table tbody tr:not([aria-hidden]) td")
    page.has("This thread alone", "dialog")
    page.screenshot("thread-details")
    page.click("dialog a", "System calls")
    page.until(f"location.hash.includes('thread={first['tid']}')")
    page.until("document.querySelector('.segments') && !document.querySelector('dialog.wide')")
    calls = rows(client, site, "x86_64", "syscall_summary", thread=first["tid"])
    page.has(f"{len(calls)} rows", ".table-foot")


def test_system_calls_by_what_they_were_about(page: Page, site: Site, look) -> None:
    page.open(site.at(f"c/{site.ids['tcp']}/syscalls"))
    page.until(f"{CELLS}.length > 10")
    look("syscalls")
    page.click(".segments a", "By the other end")
    page.until("document.querySelector('.table') && location.hash.includes('by=peers')")
    page.has("127.0.0.1:", ".table")
    page.click(".segments a", "By descriptor")
    page.has("moved_bytes", ".table")
    page.click(".segments a", "Slowest")
    page.has("known_ns", ".table")
    page.screenshot("syscalls-slowest")


def test_a_view_is_sorted_filtered_and_downloaded(page: Page, site: Site, client: httpx.Client, look) -> None:
    page.open(site.at(f"c/{site.ids['x86_64']}/views"))
    page.has("thread_time", ".catalogue")
    look("views")
    page.press("/")
    page.type("how long each thread ran")
    page.press("Enter")
    page.until("location.hash.includes('view=thread_time')")
    page.until(f"{CELLS}.length > 10")
    assert "how long" in page.see("document.querySelector('.about').innerText").lower()
    described = page.see("document.querySelector('.table th:nth-child(5) button').title")
    assert "(ns)\n" in described
    page.click(".table th button", "switch_count")
    page.until("location.hash.includes('sort=-switch_count')")
    most = rows(client, site, "x86_64", "thread_time", order="switch_count DESC", limit=1)[0]
    page.until(f"{CELLS}[0][3] === '{most['comm']}'")
    page.fill("[name=where]", "comm = 'hog'")
    page.press("Enter")
    page.until(f"{CELLS}.length === 3")
    page.has("3 rows", ".table-foot")
    assert re.search(
        r"3 rows; ([\d.]+ [KM]?i?B read|kept before, nothing read)",
        page.see("document.querySelector('.table-foot').innerText"),
    )
    look("view")
    page.click(".table-foot a", "csv")
    file = page.downloaded()
    with file.open(encoding="utf-8", newline="") as opened:
        found = [row["tid"] for row in csv.DictReader(opened)]
    wanted = rows(client, site, "x86_64", "thread_time", where="comm = 'hog'", order="switch_count DESC")
    assert found == [str(row["tid"]) for row in wanted]
    file.unlink()


def test_a_long_table_is_walked_by_keys(page: Page, site: Site, client: httpx.Client) -> None:
    page.open(site.at(f"c/{site.ids['x86_64']}/views?view=syscall_log"))
    page.until(f"{CELLS}.length > 10")
    page.see("document.querySelector('.table').focus()")
    page.press("ArrowDown")
    page.press("ArrowDown")
    page.until("document.querySelector('tr.at').ariaRowIndex === '2'")
    page.press("End")
    # The next portion comes when the end is in sight; only what is in sight is in the document.
    page.until("document.querySelector('.table-foot').innerText.includes('1,000 rows')")
    assert page.see(f"{CELLS}.length") < 100
    second = rows(client, site, "x86_64", "syscall_log", limit=1, offset=1)[0]
    page.press("Home")
    page.press("ArrowDown")
    page.press("Enter")
    page.has(f"= {second['ts_ns']} ns", "dialog dd")
    page.press("Escape")
    page.until("!document.querySelector('dialog.wide')")


def test_filters_are_in_the_address_and_in_every_query(page: Page, site: Site, client: httpx.Client) -> None:
    page.open(site.at(f"c/{site.ids['x86_64']}/views?view=thread_time"))
    page.until(f"{CELLS}.length > 10")
    page.see("document.querySelector('.filters select').value = 'thread'")
    page.see("document.querySelector('.filters select').dispatchEvent(new Event('change', {bubbles: true}))")
    page.fill(".filters input", "hog")
    page.press("Enter")
    page.until(f"{CELLS}.length === 3")
    assert "thread=hog" in page.see("location.hash")
    page.click(".tabs a", "Threads")
    page.until(f"document.querySelector('.state-bar') && {CELLS}.length === 3")
    page.click("[aria-label='Remove thread hog']")
    page.until(f"{CELLS}.length > 10")


def test_an_empty_view_says_why_and_how_to_record_it(page: Page, site: Site, look) -> None:
    page.open(site.at(f"c/{site.ids['x86_64']}/views?view=numa_placement"))
    page.has("--numa-maps", ".why-empty")
    look("view-empty")
    page.open(site.at(f"c/{site.ids['x86_64']}/views?view=thread_time&where=nonsense"))
    page.has("nonsense", ".problem")
    page.screenshot("view-error")
    # A refusal stands on a browser's console whatever the page makes of it.
    assert all("400" in problem for problem in page.problems)
    page.problems.clear()


def test_the_report(page: Page, site: Site, client: httpx.Client, look) -> None:
    told = client.get(f"/v1/captures/{site.ids['x86_64']}/report", params={"format": "json"}).json()
    page.open(site.at(f"c/{site.ids['x86_64']}/report"))
    page.has("Threads wait for a CPU", ".report .finding h3")
    titles = [section["title"] for section in told["sections"]]
    assert page.see("[...document.querySelectorAll('.report h2')].map((one) => one.textContent)") == titles
    tables = [block for section in told["sections"] for block in section["blocks"] if block["kind"] == "table"]
    # Each with headings that a screen reader tells with a cell, and the figures that the command line prints.
    shown = page.see(
        "[...document.querySelectorAll('.report table')].map((one) =>"
        " [...one.querySelectorAll('tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent)))"
    )
    assert shown == [
        [
            [
                f"Open view {cell['value']}"
                if "view" in cell.get("link", {})
                else {"-": "–"}.get(cell["text"], cell["text"])
                for cell in row
            ]
            for row in table["rows"]
        ]
        for table in tables
    ]
    assert page.see(
        "[...document.querySelectorAll('.report table')].every((one) => one.querySelector('thead th[scope=col]'))"
    )
    assert page.see("document.querySelectorAll('.report tbody th[scope=row]').length") == sum(
        len(table["rows"]) for table in tables
    )
    (number,) = (
        at for at, table in enumerate(tables) if [each["heading"] for each in table["columns"]][:2] == ["CPU", "busy"]
    )
    (busy,) = (cell for cell in tables[number]["rows"][0] if cell.get("unit") == "ns")
    shown = page.see(f"document.querySelectorAll('.report table')[{number}].rows[1].cells[1].title")
    assert shown == f"{busy['value']} ns"
    look("report")


def test_the_report_on_paper(page: Page, site: Site) -> None:
    page.open(site.at(f"c/{site.ids['x86_64']}/report"))
    page.has("How far to trust it", ".report h2")
    page.call("Emulation.setEmulatedMedia", media="print")
    try:
        hidden = ".bar, .tabs, .report-tools, .report-contents, .report-source"
        assert page.see(
            f"[...document.querySelectorAll('{hidden}')].every((one) => getComputedStyle(one).display === 'none')"
        )
        assert page.see("getComputedStyle(document.querySelector('.report-table')).overflow") == "visible"
    finally:
        page.call("Emulation.setEmulatedMedia", media="")


def test_the_report_leads_on(page: Page, site: Site) -> None:
    report = site.at(f"c/{site.ids['x86_64']}/report")
    page.open(report)
    page.click(".report-contents button", "Locks")
    assert page.see("document.activeElement.id") == "report-locks"
    page.click(".report-check a", "cpu_summary")
    page.has("cpu_summary", "section h2")
    page.open(report)
    page.click(".report-source a", "thread_time")
    page.has("thread_time", "section h2")
    assert "sort=-run_queue_ns" in page.see("location.hash")
    page.open(report)
    page.click("[aria-labelledby=report-scheduler] th a", "hog")
    page.until("document.querySelector('.state-bar')")
    assert "threads?thread=" in page.see("location.hash")
    page.open(report)
    page.click(".report .finding h3 a")
    page.has("Threads wait for a CPU", ".overview .finding h3")
    page.open(report)
    page.click(".report .finding .report-source a")
    page.until(f"{CELLS}.length > 5")


def test_names_are_text_everywhere(page: Page, site: Site) -> None:
    for path in ("overview", "threads", "syscalls", "views?view=thread", "report"):
        page.open(site.at(f"c/{site.ids['hostile']}/{path}"))
        page.has("<img src=x>")
        assert page.see("document.querySelectorAll('img, [onerror]').length") == 0
        assert page.see("document.title") != "hit"


def test_what_blame_could_not_follow_is_said_above_its_rows(page: Page, site: Site) -> None:
    capture = site.ids["x86_64"]
    with site.running.client() as client:
        gaps = client.get(f"/v1/captures/{capture}/views/blame_gap").json()
    assert gaps
    for view in ("blame_by_comm", "blame_part", "blame"):
        page.open(site.at(f"c/{capture}/views?view={view}"))
        page.has(view, "h2")
        for gap in gaps:
            said = f"{gap['part_count']:,} parts of waits, {duration(gap['wait_ns'])}, {100 * gap['wait_ratio']:.1f} %"
            page.has(said, ".blame-gaps")
    page.screenshot("blame-gaps")
    page.open(site.at(f"c/{capture}/views?view=thread_time"))
    page.until("!document.querySelector('.blame-gaps')")
