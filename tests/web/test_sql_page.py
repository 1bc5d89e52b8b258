"""SQL in the page: completion, results, downloads, cancel, what a link holds, what was asked before."""

from __future__ import annotations

import csv
import re
import time
from urllib.parse import quote

import pytest

from tests.web.chromium import CTRL, Page
from tests.web.conftest import Site

CELLS = "[...document.querySelectorAll('.table tbody tr:not([aria-hidden])')].map((row) => [...row.cells].map((cell) => cell.innerText))"
SHADOW = "document.querySelector('.editor').shadowRoot"
STATUS = "document.querySelector('main.sql [role=status]').innerText"
QUERY = "SELECT comm, tid, on_cpu_ns FROM thread_time WHERE comm = 'hog' ORDER BY tid"


@pytest.fixture
def editor(page: Page, site: Site) -> Page:
    # What was typed before belongs to the page, and goes with it.
    page.open("about:blank")
    page.open(site.at(f"sql?capture={site.ids['x86_64']}"))
    page.until("document.querySelector('.editor[data-completes]')")
    page.until("!location.hash.includes('sql=')")
    page.click(".editor")
    page.until(f"{SHADOW}.activeElement !== null")
    return page


def test_tables_and_columns_are_completed_with_what_they_mean(editor: Page, look) -> None:
    editor.keys("SELECT * FROM thread_tim")
    editor.until(f"{SHADOW}.querySelector('.cm-tooltip-autocomplete li[aria-selected]')")
    assert editor.until(f"{SHADOW}.querySelector('.cm-completionLabel').innerText") == "thread_time"
    editor.until(f"{SHADOW}.querySelector('.cm-completionInfo').innerText.includes('how long each thread ran')")
    editor.screenshot("sql-completion")
    # A list that has only just opened takes no key: who typed on did not mean it.
    time.sleep(0.1)
    editor.press("Tab")
    editor.keys(" t WHERE t.run_q")
    editor.until(
        f"[...{SHADOW}.querySelectorAll('.cm-completionLabel')].some((one) => one.innerText === 'run_queue_ns')"
    )


def test_what_is_typed_on_a_slow_machine_stays_as_it_was_typed(editor: Page) -> None:
    text = "SELECT comm, on_cpu_ns FROM thread_time ORDER BY comm"
    editor.call("Emulation.setCPUThrottlingRate", rate=10)
    try:
        editor.keys(text)
        editor.until(f"{SHADOW}.querySelector('.cm-content').innerText === {text!r}")
    finally:
        editor.call("Emulation.setCPUThrottlingRate", rate=1)


def test_a_query_runs_by_keys_and_its_result_is_taken_away(editor: Page, site: Site, look) -> None:
    editor.type(QUERY)
    editor.press("Enter", CTRL)
    editor.until(f"{CELLS}.length === 3")
    assert [row[0] for row in editor.see(CELLS)] == ["hog"] * 3
    assert editor.see(f"{CELLS}[0][2]").endswith(" s")
    assert "sql=SELECT" in editor.see("location.hash")
    assert re.fullmatch(r"3 rows in .* [mµ]?s; ([\d.]+ [KM]?i?B read|kept before, nothing read)", editor.see(STATUS))
    editor.click("button.primary", "Run")
    editor.until(f"{STATUS}.endsWith('; kept before, nothing read')")
    look("sql")
    editor.click("button", "csv")
    file = editor.downloaded()
    with file.open(encoding="utf-8", newline="") as opened:
        found = [row["tid"] for row in csv.DictReader(opened)]
    assert found == ["930", "931", "932"]
    file.unlink()
    editor.click("summary", "Earlier queries")
    editor.has(QUERY, ".menu")


def test_a_link_holds_the_query_and_the_part_of_the_capture(page: Page, site: Site) -> None:
    sql = quote("SELECT count(*) AS thread_count FROM thread_time")
    page.open(site.at(f"sql?capture={site.ids['x86_64']}&thread=hog&sql={sql}"))
    page.until(f"{CELLS}.length === 1 && {CELLS}[0][0] === '3'")


def test_all_captures_of_a_ticket(page: Page, site: Site) -> None:
    sql = quote("SELECT count(*) AS thread_count FROM thread")
    page.open(site.at(f"sql?ticket=OPS-17&sql={sql}"))
    page.until(f"{CELLS}.length === 2")
    assert sorted(row[0] for row in page.see(CELLS)) == ["pipe.perfcase", "tcp.perfcase"]
    assert page.see("document.querySelector('select').value") == "t OPS-17"


def test_an_error_and_a_query_that_is_given_up(editor: Page) -> None:
    editor.type("SELECT nothing FROM nowhere")
    editor.press("Enter", CTRL)
    editor.has("nowhere", ".problem")
    assert all("400" in problem for problem in editor.problems)
    editor.problems.clear()
    editor.screenshot("sql-error")
    editor.click(".editor")
    editor.press("a", CTRL)
    editor.type("SELECT count(*) FROM range(1000000) a, range(1000000) b, range(1000) c")
    editor.press("Enter", CTRL)
    editor.click("button", "Cancel")
    editor.until("[...document.querySelectorAll('button')].some((one) => one.innerText === 'Run')")
