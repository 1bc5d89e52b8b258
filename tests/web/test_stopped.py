"""A question that was stopped, failed or cancelled says so in words for a reader, with what to do on the page."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from perfcase_api.errors import STATUS, body
from tests.api.conftest import SAMPLES, Running, start, upload
from tests.web.chromium import Page
from tests.web.conftest import Site

FOR_PROGRAMS = ("/v1/", "openapi", "--only", "--memory", "CPU time: ask", "import the capture yourself")
ENDLESS = "(SELECT count(*) FROM range(1000000) a, range(1000000) b) > 0"
SHOWN = "document.querySelector('.problem')?.innerText"


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, str]]:
    """A server that gives a question a second of CPU time, and a capture on it."""
    running = start(tmp_path_factory.mktemp("hasty") / "store", "", "--open", "--job-seconds", "1")
    with running.client() as client:
        capture = upload(client, SAMPLES / "d-nagle" / "tcp.perfcase")
    yield running, capture
    running.stop()


def forgive(page: Page, *wanted: str) -> None:
    """Check that the browser's console has nothing but these refusals, and forget them."""
    assert all(any(each in problem for each in wanted) for problem in page.problems), page.problems
    page.problems.clear()
    page.requests.clear()


def test_a_question_that_takes_too_long(page: Page, hasty: tuple[Running, str]) -> None:
    running, capture = hasty
    page.open("about:blank")
    page.open(f"http://127.0.0.1:{running.port}/#/c/{capture}/views?view=thread&where={quote(ENDLESS)}")
    page.has("The question took too long, so the server stopped it.", ".problem-message")
    page.has("Ask for less: a shorter part of the recording", ".problem-hint")
    assert not [each for each in FOR_PROGRAMS if each in page.see(SHOWN)]
    page.screenshot("stopped")
    # What it advises is a press away.
    page.click(".problem button", "Choose a part")
    page.until("document.activeElement === document.querySelector('.filters input')")
    page.click(".where button", "Clear")
    page.until("document.querySelectorAll('.table tbody tr').length > 3 && !document.querySelector('.problem')")
    page.open(f"http://127.0.0.1:{running.port}/#/sql?capture={capture}&sql={quote(f'SELECT {ENDLESS}')}")
    page.has("The question took too long, so the server stopped it.", "main.sql .problem-message")
    page.click("main.sql .problem button", "Try again")
    page.until("document.querySelector('main.sql .danger')")
    page.click("button", "Cancel")
    page.has("Cancelled: you stopped this query", "main.sql .note")
    page.open("about:blank")
    forgive(page, "504")


def test_a_server_that_is_gone_and_comes_back(page: Page, site: Site) -> None:
    page.open("about:blank")
    page.open(site.at(f"c/{site.ids['tcp']}/views?view=thread_time"))
    page.until("document.querySelectorAll('.table tbody tr').length > 3")
    page.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
    try:
        page.see("location.hash += '&thread=order-client'")
        page.has("The server does not answer.", ".problem-message")
        page.has("Look whether you are connected", ".problem-hint")
        page.screenshot("server-gone")
    finally:
        page.call(
            "Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1
        )
    page.click(".problem button", "Try again")
    page.until("document.querySelectorAll('.table tbody tr').length > 0 && !document.querySelector('.problem')")
    forgive(page, "ERR_INTERNET_DISCONNECTED")


def answered(page: Page, text: str, code: int) -> None:
    """Answer what is asked for next with this text."""
    page.until("true")
    for _ in range(200):
        page.see("new Promise((done) => setTimeout(done, 20))")
        if page.held:
            break
    page.release(responseCode=code, body=base64.b64encode(text.encode()).decode())


def test_an_answer_that_is_cut_shows_no_part_of_itself(page: Page, site: Site) -> None:
    page.open("about:blank")
    page.open(site.at(f"c/{site.ids['tcp']}/views?view=thread_time"))
    page.until("document.querySelectorAll('.table tbody tr').length > 3")
    with page.hold("*/views/thread_time*"):
        page.see("location.hash += '&thread=order-client'")
        answered(page, '[{"comm":"order-client","tid":19530', 200)
        page.has("The answer ended before it was whole, so nothing of it is shown.", ".problem-message")
        assert page.see("document.querySelectorAll('.table tbody tr').length") == 0
    page.click(".problem button", "Try again")
    page.until("document.querySelectorAll('.table tbody tr').length > 0 && !document.querySelector('.problem')")


@pytest.mark.parametrize("kind", [kind for kind in STATUS if kind != "unauthorized"])
def test_every_kind_of_error_says_what_to_do(kind: str, page: Page, site: Site) -> None:
    """Words of the command line and of the interface for programs stay out of the page; what is shown can be asked again."""
    page.open("about:blank")
    page.open(site.at(f"c/{site.ids['tcp']}/threads"))
    page.until("document.querySelectorAll('.table tbody tr').length > 3")
    with page.hold("*/views/thread_time*"):
        page.see("location.hash += '?thread=order-client'")
        told = body(
            kind, "the question of the reader", "GET /v1/captures lists them, or ask for less: --only window=1s..2s"
        )
        answered(page, json.dumps(told), STATUS[kind])
        page.until("document.querySelector('.problem')")
        shown = page.see(SHOWN)
        assert "the question of the reader" in shown
        assert not [each for each in FOR_PROGRAMS if each in shown], shown
        assert "Try again" in shown
    page.click(".problem button", "Try again")
    page.until("document.querySelectorAll('.table tbody tr').length > 0 && !document.querySelector('.problem')")
    forgive(page, str(STATUS[kind]))


def test_a_page_that_cannot_be_fetched_is_loaded_again(page: Page, site: Site) -> None:
    page.open("about:blank")
    page.open(site.at(f"c/{site.ids['tcp']}/threads"))
    page.until("document.querySelectorAll('.table tbody tr').length > 3")
    with page.hold("*/assets/report*"):
        page.click(".tabs a", "Report")
        answered(page, "{}", 404)
        page.has("This part of the page could not be fetched.", ".problem-message")
    page.click(".problem button", "Load the page again")
    page.until("document.querySelector('.report h2')")
    page.problems.clear()


def test_a_capture_that_is_not_there_leads_on(page: Page, site: Site) -> None:
    page.open("about:blank")
    page.open(site.at("c/0123456789abcdef/overview"))
    page.has("There is no such capture on this server", "main .empty")
    page.open(site.at(f"c/{'0' * 64}/overview"))
    page.until("location.hash.includes('000')")
    page.has("There is no such capture on this server", "main .empty")
    page.click("main a", "All captures")
    page.has("tcp.perfcase", ".list")
    forgive(page, "404", "400")
