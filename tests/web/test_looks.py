"""What a reader sees at a glance: figures that are whole, controls in one row, pictures with a scale. Each was wrong in a picture once."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

import httpx
import pytest

from tests.api.conftest import SAMPLES, upload, wait_ready
from tests.web.chromium import Page
from tests.web.conftest import CALM, Site, sql
from tests.web.line import STATES, axis, opened, param, settled, top
from tests.web.script import run

CUT = "[...document.querySelectorAll({!r})].filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.innerText)"
"""Elements whose text has no room."""


@pytest.fixture(scope="module")
def post(client: httpx.Client) -> str:
    """A service whose main thread has another name than the process."""
    return upload(client, SAMPLES / "c-blocking-call" / "post.perfcase")


@pytest.fixture
def phone(page: Page) -> Iterator[Page]:
    page.resize(400, 800)
    yield page
    page.resize(1280)


def shown(page: Page, address: str) -> None:
    page.open("about:blank")
    page.open(address)
    page.until(CALM)


def test_a_share_is_in_one_line(page: Page, site: Site) -> None:
    """100.0 %, and a difference with its sign, were in two."""
    compared = f"diff?a={site.ids['tcp']}&b={site.ids['pipe']}&as=flame&what=off_cpu"
    for path in (f"c/{site.ids['tcp']}/offcpu?thread=order-client", compared):
        shown(page, site.at(path))
        page.until("document.querySelector('.flame-top .flame-list li')")
        assert (
            page.see("Math.max(...[...document.querySelectorAll('.flame-top li')].map((one) => one.clientHeight))") < 30
        ), path


def test_no_figure_of_a_difference_is_cut(page: Page, site: Site) -> None:
    shown(page, site.at(f"diff?a={site.ids['tcp']}&b={site.ids['pipe']}"))
    page.until("document.querySelectorAll('.table tbody tr:not([aria-hidden])').length > 5")
    for selector in (".table .two-lines span", ".table td.number", ".table td:nth-child(8)"):
        assert page.see(CUT.format(selector)) == []
    # The absolute figure stands below the one that is compared.
    first, second = page.see(
        "[...document.querySelector('.table .two-lines:has(.quiet)').children].map((one) => one.getBoundingClientRect().y)"
    )
    assert second > first + 10


def test_one_bar_is_a_bar_with_a_scale(page: Page, site: Site, post: str) -> None:
    shown(page, site.at(f"c/{post}/histograms?thread=6515&window=3.0295s..3.0296s"))
    page.until("/^1 wait;/.test(document.querySelector('.histogram .fresh-figures > p:last-child')?.innerText)")
    assert page.see("document.querySelector('.bars').children.length") == 1
    assert page.see("document.querySelector('.bars li').clientWidth") <= 90
    assert page.see("document.querySelector('.bar-label').innerText") != ""
    assert ": 1 wait, 100.0 %" in page.see("document.querySelector('.bars li').title")
    # The choice says what it is a choice of.
    assert page.see("document.querySelector('.histogram label').firstChild.innerText") == "by thread name"


def test_a_piece_is_asked_for_exactly(page: Page, site: Site, client: httpx.Client, post: str) -> None:
    """Rounded, its window had a part of the pieces beside it."""
    opened(page, site.at(f"c/{post}/timeline?turn=host&turn=findings&panel=threads&zoom=2.8s..3.1s&tracks=executor-7"))
    track = page.see("document.querySelector('.line-lane[data-track^=\"t:\"]').dataset.track")
    y, (left, width) = top(page, track) + STATES, axis(page)
    page.requests.clear()
    page.click_at(left + width / 2, y)
    settled(page)
    picked = param(page, "pick")
    assert picked is not None
    at = int(picked.partition("@")[2])
    (piece,) = sql(
        client,
        post,
        f"SELECT ts_ns, duration_ns FROM thread_state WHERE utid = {track[2:]} AND ts_ns <= {at} AND ts_ns + duration_ns > {at}",
    )

    def seconds(ns: int) -> str:
        return f"{ns / 1e9:.9f}".rstrip("0").rstrip(".")

    window = f"window={seconds(piece['ts_ns'])}s..{seconds(piece['ts_ns'] + piece['duration_ns'])}s"
    asked = [unquote(one) for one in page.requests if "/views/thread_time" in one and "window=" in one]
    assert asked
    assert all(window in one for one in asked), (asked, window)


def test_an_empty_part_blames_no_recorder(page: Page, site: Site) -> None:
    """That the recorder lacked a counter is no reason why a part has no rows of a view that the whole has."""
    capture = site.ids["tcp"]
    for given, said in (
        ("window=0s..0.0001s", "None in this part of the capture."),
        ("where=false", "None meets the condition."),
    ):
        shown(page, site.at(f"c/{capture}/views?view=syscall_latency&{given}"))
        page.has(said, ".why-empty")
        page.until(CALM)
        page.see("new Promise((done) => setTimeout(done, 500))")
        assert page.see("document.querySelector('.why-empty dl')") is None


def test_a_process_has_its_own_name(page: Page, site: Site, post: str) -> None:
    """As findings and the report call it, not as its main thread is called by now."""
    opened(page, site.at(f"c/{post}/timeline?turn=host&turn=findings"))
    page.has("java 6244", '.line-group[data-track="p:6244"]')
    # All of the title is seen, and so is that of a chart, beside which a pin has no room of its own.
    assert page.see(CUT.format('.line-group[data-track="p:6244"] .line-title')) == []
    # What stands below begins below the line's own outline.
    gap = page.see(
        "document.querySelector('p.lanes-legend').getBoundingClientRect().y - document.querySelector('.line').getBoundingClientRect().bottom"
    )
    assert gap >= 4


def test_views_are_in_the_order_of_the_alphabet(page: Page, site: Site) -> None:
    shown(page, site.at(f"c/{site.ids['tcp']}/views"))
    groups = page.until(
        "[...document.querySelectorAll('.catalogue ul')].map((one) => [...one.querySelectorAll('a')].map((link) => link.firstChild.data))"
    )
    assert len(groups) > 5
    assert all(one == sorted(one) for one in groups)


def test_a_head_says_a_word_once(page: Page, site: Site) -> None:
    shown(page, site.at(f"c/{site.ids['tcp']}/syscalls"))
    heads = (
        "[...document.querySelectorAll('.table th .head-words')].map((one) => one.innerText.replace(/[▾▴]/, '').trim())"
    )
    page.until(f"{heads}.length > 5")
    found = page.see(heads)
    assert "total duration" in found
    assert not [one for one in found if one.endswith("duration time")]


def test_what_history_is_asked_for_is_one_row(page: Page, site: Site) -> None:
    # Two captures: too few for a band, whatever else other tests have sent.
    shown(page, site.at("history?ticket=OPS-17"))
    page.until("document.querySelectorAll('.table tbody tr').length >= 2")
    tops = page.until(
        "((all) => all.length > 1 && all.map((one) => one.getBoundingClientRect().y))([...document.querySelectorAll('.history > .row summary')])"
    )
    assert len(set(tops)) == 1
    # A column in which nothing is known of any capture says nothing.
    assert (
        page.see("[...document.querySelectorAll('.table th .head-words')].map((one) => one.innerText)").count("band")
        == 0
    )


def test_findings_are_counted_in_words(page: Page, site: Site, post: str) -> None:
    shown(page, site.at("captures"))
    page.has("2 warnings", f'tr:has(a[href*="{post}"])')
    page.has("1 critical", f'tr:has(a[href*="{post}"])')


def test_on_a_phone_what_belongs_together_stands_together(phone: Page, site: Site) -> None:
    shown(phone, site.at("captures"))
    edges = phone.see(
        "[...document.querySelectorAll('.list tbody tr')].map((row) => [...row.querySelectorAll('td:not(.list-box)')].filter((one) => one.clientWidth)"
        ".map((one) => one.getBoundingClientRect().x - row.getBoundingClientRect().x))"
    )
    assert edges
    assert all(min(row) >= 40 for row in edges)
    shown(phone, site.at("admin"))
    phone.until("document.querySelector('.audit tbody tr')")
    assert (
        phone.see("Math.max(...[...document.querySelectorAll('.audit tbody tr')].map((one) => one.clientHeight))") < 40
    )
    assert phone.overflow() <= 0


def test_source_and_assembly_come_into_sight(page: Page, site: Site, client: httpx.Client) -> None:
    """They stand below the picture: a press on their button seemed to do nothing."""
    server = upload(client, SAMPLES / "d-type-checks" / "server.perfcase")
    shown(page, site.at(f"c/{server}/flame?of=same_type"))
    page.click(".flame-sandwich button", "Source and assembly")
    page.until("document.querySelector('.flame-code-rows')")
    page.until(
        "(({y}) => y > -5 && y < innerHeight - 60)(document.querySelector('.flame-code h2').getBoundingClientRect())"
    )


def test_what_is_no_capture_says_so_once(page: Page, site: Site, client: httpx.Client) -> None:
    answer = client.post("/v1/captures", params={"name": "none.perfcase"}, content=b"no capture " * 400)
    wait_ready(client, answer.json()["capture_id"])
    for shows in ("overview", "timeline", "flame"):
        shown(page, site.at(f"c/{answer.json()['capture_id']}/{shows}"))
        page.has("its first bytes are those of no format", ".problem")
        page.has("Delete", "main button")
        assert page.see("document.body.innerText.split('not a capture').length - 1") == 1
    client.delete(f"/v1/captures/{answer.json()['capture_id']}")


def test_a_part_without_samples_is_no_error(page: Page, site: Site, post: str) -> None:
    """The server says that the capture has none, and names a command: neither is for a reader of the page."""
    shown(page, site.at(f"c/{post}/flame?window=0s..0.5s"))
    page.has("No samples in this part of the capture: nothing to draw.", "main")
    # The browser notes each answer that is no success.
    page.problems.clear()


RANGE = """
import { rangeOf } from "FILE";
const of = (unit, y) => rangeOf({ chart: { values: [{ unit }] } }, { lines: [{ y }] });
process.stdout.write(JSON.stringify([of("ratio", [0.2, 1.002]), of("ratio", [0.2]), of("ratio", [1.4]), of("count", [3, null, 7]), of("bytes/s", [900])]));
"""


def test_a_disk_is_busy_all_of_the_time_at_most() -> None:
    """Ticks made a disk 100.2 % busy, and the axis went to 200 %."""
    assert run("line/range.ts", RANGE) == [[0, 1], [0, 1], [0, 2], [0, 10], [0, 1024]]


def test_a_call_that_is_picked_has_returned(page: Page, site: Site, client: httpx.Client) -> None:
    """A window that ended where the call does had none that was whole."""
    capture = site.ids["tcp"]
    (call,) = sql(
        client,
        capture,
        "SELECT utid, ts_ns, duration_ns FROM syscall JOIN thread USING (utid) WHERE comm = 'order-client' AND pairing = 'strict'"
        " ORDER BY duration_ns DESC, ts_ns LIMIT 1",
    )
    middle = call["ts_ns"] + call["duration_ns"] // 2
    opened(page, site.at(f"c/{capture}/timeline?panel=histograms&pick=t:{call['utid']}.calls@{middle}"))
    page.until(
        "/^1 call;/.test(document.querySelector('[aria-label=\"System calls\"] .fresh-figures > p:last-child')?.innerText)"
    )
