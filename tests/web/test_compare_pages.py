"""Two captures compared, one figure over all of them, and who may do what."""

from __future__ import annotations

import json

import pytest

from perfcase.text import duration, ratio
from tests.api.conftest import start
from tests.web.chromium import Page
from tests.web.conftest import Site
from tests.web.script import run

POINTS = "pages/history-points.ts"
CELLS = "[...document.querySelectorAll('.table tbody tr:not([aria-hidden])')].map((row) => [...row.cells].map((cell) => cell.innerText))"


@pytest.fixture(scope="module")
def told(site: Site) -> dict:
    """The diff of the two: asked for here, so that the page finds it kept."""
    with site.running.client() as client:
        answer = client.get("/v1/diff", params={"a": site.ids["tcp"], "b": site.ids["pipe"], "limit": 200})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture(scope="module")
def line(told: dict) -> dict:
    """Its first line."""
    return told["differences"][0]


def test_what_changed_between_two_captures(page: Page, site: Site, told: dict, line: dict, look) -> None:
    page.open(site.at(f"diff?a={site.ids['tcp']}&b={site.ids['pipe']}"))
    page.has("Can they be compared?")
    assert told["in_short"]
    for sentence in told["in_short"]:
        page.has(sentence, "[aria-label='In short'] li")
    page.until(f"{CELLS}.length > 5")
    first = page.see(f"{CELLS}[0]")
    assert first[1] == line["view"]
    # A measure is said in words, and all columns are seen.
    measures = page.see(f"{CELLS}.map((row) => row[3])")
    assert measures
    assert not [one for one in measures if "_" in one]
    assert (
        page.see("(({scrollWidth, clientWidth}) => scrollWidth - clientWidth)(document.querySelector('.table'))") <= 0
    )
    assert first[-1] == line["why"]
    assert (first[4] == "–") == (line["a"] is None)
    look("diff")
    page.click(".table tbody tr:not([aria-hidden]) td")
    page.has("Why it ranks here", "dialog")
    page.has(line["measure"], "dialog dd")
    page.screenshot("diff-details")
    page.click("dialog a", "All of this view")
    page.until(f"location.hash.includes('view={line['view']}') && !document.querySelector('dialog.wide')")
    page.until(f"{CELLS}.length && {CELLS}.every((row) => row[1] === '{line['view']}')")


def test_the_flame_graph_of_the_difference_is_a_click_away(page: Page, site: Site, line: dict) -> None:
    page.open(site.at(f"diff?a={site.ids['tcp']}&b={site.ids['pipe']}"))
    page.click(".segments a", "Flame graph")
    page.until("location.hash.includes('as=flame') && document.querySelector('canvas')")
    page.screenshot("diff-flame")


@pytest.mark.parametrize(
    ("shown", "view"),
    [
        ("threads", "thread_time"),
        ("syscalls", "syscall_summary"),
        ("views?view=load_average", "load_average"),
        ("overview", None),
    ],
)
def test_every_page_of_a_capture_leads_to_the_same_of_two(shown: str, view: str | None, page: Page, site: Site) -> None:
    page.open(site.at(f"c/{site.ids['tcp']}/{shown}"))
    choice = "document.querySelector('[aria-label=\"Compare this with\"]')"
    page.until(choice)
    page.see(f"{choice}.value = '{site.ids['pipe']}', {choice}.dispatchEvent(new Event('change', {{ bubbles: true }}))")
    page.until("location.hash.startsWith('#/diff')")
    asked = page.see("Object.fromEntries(new URLSearchParams(location.hash.split('?')[1]))")
    assert asked == {"a": site.ids["pipe"], "b": site.ids["tcp"], **({"view": view} if view else {})}


def test_a_thread_of_both_is_compared(page: Page, site: Site, look) -> None:
    # The filters of the page that it began on go along; the window stays that capture's own.
    page.open(site.at(f"c/{site.ids['tcp']}/syscalls?thread=order-client&window=0s..2s"))
    choice = "document.querySelector('[aria-label=\"Compare this with\"]')"
    page.until(choice)
    page.see(f"{choice}.value = '{site.ids['pipe']}', {choice}.dispatchEvent(new Event('change', {{ bubbles: true }}))")
    page.until("location.hash.includes('thread=order-client') && location.hash.includes('b_window=0s..2s')")
    page.until(f"{CELLS}.length && {CELLS}.every((row) => row[2].includes('order-client'))")
    look("diff-thread")
    page.click(".segments a", "Flame graph")
    page.until(
        "location.hash.includes('thread=order-client') && document.querySelector('.flame-canvas')?.dataset.painted"
    )
    page.click(".chip button")
    page.until("!location.hash.includes('thread=')")


def test_two_windows_of_one_capture(page: Page, site: Site, look) -> None:
    page.open("about:blank")
    page.open(site.at(f"diff?a={site.ids['tcp']}&view=thread_time"))
    page.has("two windows of one", ".empty")
    for side, window in (("A", "0s..2s"), ("B", "2s..4s")):
        page.fill(f"[aria-label='Window of {side}']", window)
        page.press("Enter")
    page.until("location.hash.includes('a_window=0s..2s') && location.hash.includes('b_window=2s..4s')")
    page.until(f"{CELLS}.length && {CELLS}.every((row) => row[1] === 'thread_time')")
    page.screenshot("diff-windows")


def test_one_figure_over_all_captures(page: Page, site: Site, look) -> None:
    """A plot, before anything is chosen: of how busy the CPUs were."""
    page.open(site.at("history"))
    page.until(f"{CELLS}.length >= 4")
    page.has("tcp.perfcase", ".table a")
    asked = {"view": "cpu_utilization", "measure": "busy_ratio"}
    with site.running.client() as client:
        rows = client.get("/v1/history", params=asked).json()
    values = sorted(row["value"] for row in rows if row["value"] is not None)
    shown = page.see("[...document.querySelectorAll('.history-plot a title')].map((one) => one.textContent)")
    told = [
        f"{row['host']}, {row['recorded_at'][:16]}: {ratio(row['value'])}" for row in rows if row["value"] is not None
    ]
    assert sorted(text.split("\n")[0] for text in shown) == sorted(told)
    # The page takes the one above the middle of an even number; round of Python would take the even place.
    page.has(f"Median {ratio(values[len(values) // 2])}; four fifths of {len(values)} captures", ".history-plot")
    look("history")
    # Amounts are compared per second, in the plot and in the table.
    page.open(site.at("history?view=thread_time&measure=on_cpu_ns"))
    page.has("/s; four fifths of", ".history-plot")
    with site.running.client() as client:
        rows = client.get("/v1/history", params={"view": "thread_time", "measure": "on_cpu_ns"}).json()
    rates = {f"{duration(row['value_per_s'])}/s" for row in rows if row["value_per_s"] is not None}
    cells = set(page.see(f"{CELLS}.flat()"))
    assert rates <= cells, (rates, cells)
    page.open(site.at("history"))
    page.until("document.querySelector('.history-plot a')")
    # A point leads to its capture.
    first = page.see("document.querySelector('.history-plot a').getAttribute('href')")
    page.see(
        "document.querySelector('.history-plot a').dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))"
    )
    page.until(f"location.hash === {first!r}")
    page.open(site.at("history"))
    page.until("document.querySelector('.history-plot')")
    page.see("""(() => {
        const view = document.querySelector("[aria-label='View']");
        view.value = "captures";
        view.dispatchEvent(new Event("change", {bubbles: true}));
    })()""")
    page.until("!document.querySelector('.history-plot') && location.hash.includes('view=captures')")
    page.has("tcp.perfcase", ".table a")


def test_a_plot_of_one_host_says_where_it_changed() -> None:
    """Only a change: the first capture of a host is in some band, too."""
    rows = [
        {"capture": f"{number:02}/x", "host": host, "recorded_at": f"2026-01-{number + 1:02} 10:00:00", "value": value,
         "band": band, "band_since": f"2026-01-{since + 1:02} 10:00:00"}
        for number, (host, value, band, since) in enumerate(
            [("a", 1.0, "low", 0), ("b", 9.0, "high", 1), ("a", 1.1, "low", 0), ("a", 8.0, "high", 3), ("b", 9.5, "high", 1), ("a", 8.5, "high", 3)]
        )
    ]  # fmt: skip
    rows.append({"capture": "97/x", "host": "a", "recorded_at": None, "value": 1.0})
    rows.append({"capture": "98/x", "host": "a", "recorded_at": "2026-01-20 10:00:00", "value": None})
    rows.append(
        {"capture": "99/x", "host": "c", "recorded_at": "2026-01-01 00:00:00", "value": 6.0, "value_per_s": 3.0}
    )
    script = """
import { pointsOf } from "FILE";
process.stdout.write(JSON.stringify(pointsOf(ROWS).map(({ id, host, value, change }) => [id, host, value, change])));
""".replace("ROWS", json.dumps(rows))
    assert run(POINTS, script) == [
        ["99", "c", 3.0, None], ["00", "a", 1.0, None], ["01", "b", 9.0, None], ["02", "a", 1.1, None],
        ["03", "a", 8.0, "high"], ["04", "b", 9.5, None], ["05", "a", 8.5, None],
    ]  # fmt: skip


def test_tokens_are_made_shown_once_and_revoked(page: Page, tmp_path, look) -> None:
    running = start(tmp_path / "store")
    page.open(f"http://127.0.0.1:{running.port}/#/admin")
    page.fill("#token", running.token)
    page.press("Enter")
    page.fill("[aria-label=Name]", "<b>on call</b>")
    page.click("button", "Make a token")
    page.has("It is shown this once", "dialog")
    secret = page.see("document.querySelector('.secret').innerText")
    page.screenshot("admin-secret")
    with running.client(secret) as client:
        assert client.get("/v1/me").json() == {"name": "<b>on call</b>", "role": "viewer", "ticket_prefix": ""}
    page.press("Escape")
    page.until("!document.querySelector('.secret')")
    look("admin")
    page.click(".list tbody tr:nth-child(2) button", "Revoke")
    page.click("dialog button", "Revoke")
    page.has("revoked", ".list")
    with running.client(secret) as client:
        assert client.get("/v1/me").status_code == 401
    page.has("POST /v1/tokens", ".list")
    assert [p for p in page.problems if "401" not in p] == []
    page.problems.clear()
    page.requests.clear()
    page.open("about:blank")
    running.stop()
