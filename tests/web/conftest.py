"""One server with sample captures and one Chromium for all tests of the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx
import pytest

from tests.api.conftest import SAMPLES, Running, start, upload
from tests.support.scale import SCALE
from tests.web.chromium import Page, chromium
from tests.web.hostile import TEXT, hostile

CALM = "!document.querySelector('[aria-busy=true], .waiting') && document.querySelector('main')?.innerText"
"""Whether nothing is awaited any more."""
WIDTHS = (1280, 1920, 400)
SYMBOLS = (b"tcp_rcv_established", b"try_to_wake_up")
"""Kernel functions that the capture ``hostile`` calls otherwise."""


@dataclass
class Site:
    """A server that wants no token, and the ids of the captures on it."""

    running: Running
    ids: dict[str, str] = field(default_factory=dict)

    def at(self, path: str) -> str:
        """The address of a page."""
        return f"http://127.0.0.1:{self.running.port}/#/{path}"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    running = start(tmp_path_factory.mktemp("web") / "store", "", "--open", "--job-seconds", "300",
                    "--requests-per-minute", "1000000")  # fmt: skip
    here = Site(running)
    with running.client() as client:
        for name, file, ticket in (
            ("tcp", "d-nagle/tcp.perfcase", "OPS-17"),
            ("pipe", "d-nagle/pipe.perfcase", "OPS-17"),
            ("x86_64", "x86_64-scheduling/x.perfcase", "OPS-4"),
        ):
            here.ids[name] = upload(client, SAMPLES / file, ticket=ticket)
        bad = running.store.parent / f"{TEXT.replace('/', '')}.perfcase"
        bad.write_bytes(hostile(SAMPLES / "d-nagle" / "tcp.perfcase", b"order-client", SYMBOLS))
        here.ids["hostile"] = upload(client, bad, ticket="<b>OPS-66</b>")
    yield here
    running.stop()


@pytest.fixture(scope="session")
def client(site: Site) -> Iterator[httpx.Client]:
    with site.running.client() as given:
        yield given


def rows(client: httpx.Client, capture: str, view: str, **query: object) -> list[dict]:
    answer = client.get(f"/v1/captures/{capture}/views/{view}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def sql(client: httpx.Client, capture: str, statement: str) -> list[dict]:
    return client.post("/v1/sql", json={"capture_id": capture, "sql": statement}).json()


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with chromium(tmp_path_factory.mktemp("chromium") / "profile") as page:
        yield page


@pytest.fixture
def page(browser: Page, site: Site) -> Iterator[Page]:
    """The page at its window of 1280 px. Afterwards: nothing went wrong in it, nothing was fetched from elsewhere."""
    browser.resize(WIDTHS[0])
    browser.problems.clear()
    browser.requests.clear()
    yield browser
    assert browser.problems == []
    ours = (f"http://127.0.0.1:{site.running.port}/", "data:", "blob:", "about:")
    assert [url for url in browser.requests if not url.startswith(ours)] == []


@pytest.fixture
def look(page: Page, request: pytest.FixtureRequest):
    """Pictures of what is open, in all widths and both schemes, for people: the long tier takes them. Nothing may be wider than the window."""

    def pictures(name: str, *, whole: bool = False) -> None:
        for width in WIDTHS:
            page.resize(width)
            for scheme in ("light", "dark") if SCALE >= 1 else ("light",):
                page.scheme(scheme)
                page.see("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 60)))")
                if SCALE >= 1:
                    page.screenshot(f"{name}-{width}-{scheme}", whole=whole)
            assert page.overflow() <= 0, f"{name}: wider than {width} px"
        page.resize(WIDTHS[0])
        page.scheme("light")

    return pictures
