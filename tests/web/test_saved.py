"""What a team keeps: queries with parameters and a chart, boards of figures, notes on a part of a capture."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

import httpx
import pytest

from tests.api.test_parameters import TYPED
from tests.web.chromium import CTRL, Page
from tests.web.conftest import CALM, Site, rows
from tests.web.script import run
from tests.web.test_accessible import violations
from tests.web.test_sql_page import CELLS, SHADOW

BARS = "[...document.querySelectorAll('.result-bars li')].map((one) => [...one.children].map((each) => each.innerText))"
SQL = "SELECT comm, tid, on_cpu_ns FROM thread_time WHERE comm = $comm AND tid > $least ORDER BY tid"
NAME = "busiest <b>threads</b>"
WORDS = {"int": "whole number", "float": "number", "bool": "true or false", "NoneType": "null", "str": "text"}


def test_the_page_types_as_the_server_does() -> None:
    told = run("sql/parameters.ts", "import {typeOf} from 'FILE'; import {readFileSync} from 'fs';"
               "process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(typeOf)))", json.dumps(list(TYPED)))  # fmt: skip
    assert dict(zip(TYPED, told, strict=True)) == {text: WORDS[type(value).__name__] for text, value in TYPED.items()}


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT $a, $b, $A", ["a", "b"]),
        ("SELECT '$no', \"$no\", $yes -- $no\n/* $no */", ["yes"]),
        ("SELECT $$ $no $$, $t$ $no $t$, $yes", ["yes"]),
        ("SELECT 'it''s $no', E'\\'$no', $yes", ["yes"]),
        ("SELECT 1", []),
        ("SELECT $1", []),
    ],
)
def test_parameters_are_found_where_they_are(sql: str, names: list[str]) -> None:
    told = run("sql/parameters.ts", "import {parametersOf} from 'FILE'; import {readFileSync} from 'fs';"
               "process.stdout.write(JSON.stringify(parametersOf(readFileSync(0, 'utf8'))))", sql)  # fmt: skip
    assert told == names


@pytest.fixture
def editor(page: Page, site: Site, client: httpx.Client) -> Page:
    for saved in client.get("/v1/queries").json():
        client.delete(f"/v1/queries/{saved['query_id']}")
    page.open("about:blank")
    page.open(site.at(f"sql?capture={site.ids['x86_64']}"))
    page.until("document.querySelector('.editor[data-completes]')")
    page.click(".editor")
    page.until(f"{SHADOW}.activeElement !== null")
    return page


def test_columns_are_completed_before_from(editor: Page) -> None:
    editor.keys("SELECT run_que")
    editor.until(
        f"[...{SHADOW}.querySelectorAll('.cm-completionLabel')].some((one) => one.innerText === 'run_queue_ns')"
    )
    # With the tables that have it, and what it means.
    editor.until(f"/^\\w+(, \\w+)*( and \\d+ more)?: \\w/.test({SHADOW}.querySelector('.cm-completionInfo').innerText)")


def test_a_box_for_each_parameter_a_chart_and_a_name(editor: Page, site: Site, client: httpx.Client, look) -> None:
    editor.type(SQL)
    editor.press("Escape")
    editor.until("document.querySelectorAll('.parameters input').length === 2")
    editor.fill(".parameters label:first-child input", "hog' OR 1=1 --")
    editor.has("text", ".parameters")
    editor.fill(".parameters label:nth-child(2) input", "930")
    editor.has("whole number", ".parameters")
    editor.press("Enter")
    editor.has("No rows.", "main.sql")
    editor.fill(".parameters label:first-child input", "hog")
    editor.until("!document.querySelector('.fresh[aria-busy=true]') || document.querySelector('.fresh-note')")
    editor.press("Enter")
    editor.until(f"{CELLS}.length === 2")
    assert "set=comm%3Dhog&set=least%3D930" in editor.see("location.hash")
    editor.see("((one) => { one.value = 'bars'; one.dispatchEvent(new Event('change', {bubbles: true})); })"
               "(document.querySelector('[aria-label=Chart]'))")  # fmt: skip
    # The bars are the table's rows, in its order, as it spells them.
    editor.until(f"{BARS}.length === 2")
    assert [[key, value] for key, _, value in editor.see(BARS)] == [[row[0], row[2]] for row in editor.see(CELLS)]
    assert violations(editor) == []
    look("sql-bars")
    editor.click("button", "Save")
    editor.until("document.activeElement.matches('.save-dialog input')")
    editor.type(NAME)
    editor.press("Enter")
    editor.until("!document.querySelector('.save-dialog')")
    (saved,) = client.get("/v1/queries").json()
    assert (saved["name"], saved["sql"], saved["set"]) == (NAME, SQL, ["comm=hog", "least=930"])
    # Somebody else opens it by its name: the same rows, boxes and chart.
    editor.open("about:blank")
    editor.open(site.at(f"sql?capture={site.ids['x86_64']}"))
    editor.click("summary", "Saved queries")
    editor.has(NAME, ".saved")
    assert violations(editor) == []
    look("sql-saved")
    editor.click(".saved-name", NAME)
    editor.until(f"{BARS}.length === 2")
    assert editor.see("[...document.querySelectorAll('.parameters input')].map((one) => one.value)") == ["hog", "930"]
    # The same name replaces it, and says so first.
    editor.fill(".parameters label:nth-child(2) input", "0")
    editor.click("button", "Save")
    editor.has("There is one of this name: it will be replaced.", ".save-dialog")
    editor.click(".save-dialog button", "Replace")
    editor.until("!document.querySelector('.save-dialog')")
    assert [one["set"] for one in client.get("/v1/queries").json()] == [["comm=hog", "least=0"]]
    editor.click("summary", "Saved queries")
    editor.click(f"[aria-label='Delete {NAME}']")
    editor.click("dialog[aria-label^='Delete'] button", "Delete")
    editor.has("None yet.", ".saved")
    assert client.get("/v1/queries").json() == []


def test_lines_over_time(page: Page, site: Site, look) -> None:
    sql = quote("SELECT ts_ns, cpu, busy_ratio FROM cpu_utilization")
    page.open("about:blank")
    page.open(site.at(f"sql?capture={site.ids['x86_64']}&sql={sql}&chart=line&x=ts_ns&y=busy_ratio&key=cpu"))
    page.until("document.querySelector('.result-chart canvas')")
    legend = page.see("document.querySelector('.result-chart .line-legend').innerText")
    assert [f"cpu {name}" in legend for name in ("0", "1", "all")] == [True] * 3
    page.until("document.querySelectorAll('.table tbody tr').length > 3")
    look("sql-lines")
    # Without the column that tells the lines apart, a picture would have one of three rows.
    page.open(site.at(f"sql?capture={site.ids['x86_64']}&sql={sql}&chart=line&x=ts_ns&y=busy_ratio"))
    page.has("18 rows have the time of another row of the same line", ".result-chart")
    assert not page.see("document.querySelector('.result-chart canvas')")
    # A time of day, and values that are not known; a chart that the rows do not have is none.
    sql = quote(
        "SELECT TIMESTAMP '2026-01-01 10:00:00' + to_seconds(i) AS day, CASE WHEN i % 3 = 0 THEN NULL ELSE i - 5 END AS v FROM range(10) r(i)"
    )
    page.open(site.at(f"sql?capture={site.ids['x86_64']}&sql={sql}&chart=line&x=day&y=v"))
    page.has("v over day", ".result-chart .line-title")
    page.open(site.at(f"sql?capture={site.ids['x86_64']}&sql={sql}&chart=bars&x=day&y=v"))
    page.until(f"{BARS}.length === 6")
    page.has("4 have no value", ".result-chart")
    page.open(site.at(f"sql?capture={site.ids['x86_64']}&sql={quote('SELECT comm FROM thread')}&chart=line&x=<b>"))
    page.until(f"{CELLS}.length > 3 && !document.querySelector('.result-chart')")


def test_a_link_without_a_value_says_so(page: Page, site: Site) -> None:
    page.open("about:blank")
    page.open(site.at(f"sql?capture={site.ids['x86_64']}&sql={quote(SQL)}&set=comm%3Dhog"))
    page.has("Give each parameter a value, then press Run.", "main.sql")
    page.fill(".parameters label:nth-child(2) input", "0")
    page.press("Enter", CTRL)
    page.press("Enter")
    page.until(f"{CELLS}.length === 3")


def test_a_board_shows_its_figures_under_each_other(page: Page, site: Site, client: httpx.Client, look) -> None:
    for board in client.get("/v1/boards").json():
        client.delete(f"/v1/boards/{board['board_id']}")
    page.open("about:blank")
    page.open(site.at("history?view=cpu_utilization&measure=busy_ratio"))
    page.until("document.querySelectorAll('.history-plot circle').length > 1")
    page.click("summary", "Add to a board")
    page.click("button", "A new board …")
    page.until("document.activeElement.matches('.save-dialog input')")
    page.type("nightly <i>")
    page.press("Enter")
    page.until("location.hash.includes('board=') && !document.querySelector('.save-dialog')")
    page.open(site.at("history?view=thread_time&measure=on_cpu_ns&where=comm%20%3C%3E%20%27%3Cb%3E%27"))
    page.until("document.querySelectorAll('.history-plot circle').length > 1")
    page.click("summary", "Add to a board")
    page.click(".menu button", "nightly <i>")
    page.until("document.querySelectorAll('.board-figure .history-plot').length === 2")
    heads = "[...document.querySelectorAll('.board-figure h3')].map((one) => one.innerText)"
    assert page.see(heads) == ["busy_ratio of cpu_utilization", "on_cpu_ns of thread_time"]
    assert page.see("document.title").startswith("nightly <i> –")
    # The figures are those of the command line and of their own page.
    (board,) = client.get("/v1/boards").json()
    points = "document.querySelectorAll('.board-figure')[1].querySelectorAll('circle').length"
    told = client.get(f"/v1/history?{board['figures'][1]}").json()
    assert page.see(points) == len([one for one in told if one["value"] is not None])
    page.until(CALM)
    assert violations(page) == []
    look("board", whole=True)
    page.click("[aria-label='Move figure 2 up']")
    page.until(f"{heads}[0] === 'on_cpu_ns of thread_time'")
    page.click(".board-figure h3 a")
    page.until("location.hash.includes('view=thread_time') && location.hash.includes('where=')")
    page.has("Add to a board", "summary")
    page.until("document.querySelectorAll('.history-plot circle').length > 1")
    page.click("summary", "Boards")
    page.click(".board-link", "nightly <i>")
    page.click("[aria-label='Remove figure 1']")
    page.until("document.querySelectorAll('.board-figure').length === 1")
    page.click("button", "Rename")
    page.fill(".save-dialog input", "weekly")
    page.press("Enter")
    page.has("weekly", "main.history h2")
    page.click("main.history button", "Delete")
    page.click("dialog[aria-label^='Delete'] button", "Delete")
    page.until("location.hash === '#/history'")
    assert client.get("/v1/boards").json() == []
    page.open(site.at(f"history?board={board['board_id']}"))
    page.has("There is no such board")
    assert all("404" in problem for problem in page.problems)
    page.problems.clear()


def test_a_note_on_a_part_and_on_a_finding(page: Page, site: Site, client: httpx.Client, look) -> None:
    capture = site.ids["tcp"]
    place = f"/v1/captures/{capture}/notes"
    for note in client.get(place).json():
        client.delete(f"{place}/{note['note_id']}")
    finding = rows(client, capture, "finding")[0]["finding"]
    page.open("about:blank")
    page.open(site.at(f"c/{capture}/overview?window=1.25s..2.5s"))
    page.until("document.querySelector('.notes textarea')")
    page.fill(".notes textarea", "slow <b>here</b>\n\u202esecond line")
    page.has("on 1.25s..2.5s", ".notes label")
    page.click(".notes button", "Add note")
    page.has("1.25 to 2.50 s", ".notes a")
    (note,) = client.get(place).json()
    assert (note["start_ns"], note["end_ns"], note["finding"]) == (1_250_000_000, 2_500_000_000, None)
    assert "<b>here</b>\n\\u202esecond" in page.see("document.querySelector('.notes-text').innerText")
    page.open(site.at(f"c/{capture}/overview"))
    page.until(f"[...document.querySelectorAll('.notes select option')].some((one) => one.value === '{finding}')")
    page.see(f"((one) => {{ one.value = '{finding}'; one.dispatchEvent(new Event('change', {{bubbles: true}})); }})"
             "(document.querySelector('.notes select'))")  # fmt: skip
    page.fill(".notes textarea", "two writes, and the second waits")
    page.click(".notes button", "Add note")
    page.has(finding, ".notes-head a")
    page.until(CALM)
    assert violations(page) == []
    look("notes", whole=True)
    # The link sets the window, to the nanosecond.
    page.click(".notes-head a", "1.25 to 2.50 s")
    page.until("location.hash.includes('window=1.25s..2.5s')")
    page.click(".notes-head a", finding)
    page.until(f"location.hash.includes('finding={finding}')")
    text = client.get(f"/v1/captures/{capture}/summary").text
    assert re.search(r"open, \d{4}-\d\d-\d\d \d\d:\d\d UTC, from 1.25 to 2.50 s of the recording", text)
    assert f"UTC, finding {finding}" in text
    page.click("[aria-label^='Delete the note']")
    page.until("document.querySelectorAll('.notes article').length === 1")
    page.click("[aria-label^='Delete the note']")
    page.until("document.querySelectorAll('.notes article').length === 0")
    assert client.get(place).json() == []
