"""Signing in, the frame around the pages, keys, the theme."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from perfcase_api.app import create_app
from perfcase_api.routes import page as route
from perfcase_api.settings import Settings
from tests.api.conftest import Running, start
from tests.web.chromium import Page
from tests.web.conftest import CALM, Site


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that wants tokens."""
    running = start(tmp_path_factory.mktemp("closed") / "store")
    yield running
    running.stop()


def test_a_token_signs_in_and_the_session_is_out_of_scripts_reach(page: Page, closed: Running) -> None:
    page.open(f"http://127.0.0.1:{closed.port}/#/captures?text=kept")
    page.fill("#token", "pc_wrong")
    page.click("button", "Sign in")
    page.has("not a valid token", ".problem")
    page.screenshot("sign-in")
    page.fill("#token", closed.token)
    page.press("Enter")
    page.has("Captures", "nav")
    assert "kept" in page.see("location.hash")
    assert page.see("document.cookie") == ""
    page.click("button", "Sign out")
    page.until("document.querySelector('#token')")
    # It asks how to sign in, in its own time.
    page.open("about:blank")
    # That nobody is signed in, and that the token was wrong: a browser writes refusals on its console.
    assert [p for p in page.problems if "401" not in p] == []
    page.problems.clear()
    page.requests.clear()


def test_an_open_server_wants_no_token(page: Page, site: Site) -> None:
    page.open(site.at("captures"))
    page.has("tcp.perfcase")
    assert page.see("[...document.querySelectorAll('button')].some((one) => one.innerText === 'Sign out')") is False


def test_dark_and_light(page: Page, site: Site) -> None:
    page.open(site.at("captures"))
    page.until("document.querySelector('.bar')")
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    page.scheme("dark")
    dark = page.see(paper)
    page.scheme("light")
    light = page.see(paper)
    assert dark != light
    page.press("t")
    page.press("t")
    assert page.see("localStorage.getItem('perfcase.theme')") == "dark"
    assert page.see(paper) == dark
    page.press("t")
    assert page.see(paper) == light


def test_help_by_a_key(page: Page, site: Site) -> None:
    page.open(site.at("captures"))
    page.until("document.querySelector('.bar')")
    page.press("?")
    page.until("document.querySelector('dialog.help').open")
    page.screenshot("help")
    page.press("Escape")
    page.until("!document.querySelector('dialog.help')")


def test_a_page_that_was_not_built_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "FOLDER", tmp_path / "nowhere")
    app = create_app(Settings(store=tmp_path / "store", is_open=True))

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            return await client.get("/")

    told = asyncio.run(ask())
    assert told.status_code == 503
    assert "scripts/page.sh" in told.json()["error"]["hint"]


def test_what_never_changes_is_kept_for_good(site: Site) -> None:
    with site.running.client() as client:
        index = client.get("/")
        assert index.headers["cache-control"] == "no-cache"
        (name,) = [part.split('"')[0] for part in index.text.split('src="')[1:]]
        assert "immutable" in client.get(name).headers["cache-control"]
        assert client.get("/assets/..%2f..%2fapp.py").status_code == 404
        assert client.get("/assets/nothing.js").json()["error"]["kind"] == "not_found"


def test_the_page_is_small(page: Page, site: Site) -> None:
    """A reader waits for the scripts of the page that they open, not for those of others: the SQL editor is most of all."""
    fetched = """performance.getEntriesByType('resource').filter(({name}) => name.endsWith('.js'))
        .map(({name, encodedBodySize, decodedBodySize}) => [name.split('/').pop(), encodedBodySize, decodedBodySize])"""
    page.open(site.at("captures"))
    page.until(CALM)
    index = page.see(fetched)
    assert sum(plain for _, _, plain in index) < 100_000
    page.open("about:blank")
    page.open(site.at(f"c/{site.ids['tcp']}/timeline"))
    page.until("document.querySelector('.line-canvas')?.dataset.painted")
    line = page.see(fetched)
    assert max(plain for _, _, plain in line) < 50_000, "the editor is fetched with its page alone"
    assert 0 < sum(sent for _, sent, _ in line) < 100_000

    everything = {script.name: script.stat().st_size for script in (route.FOLDER / "assets").glob("*.js")}
    editor = sum(size for name, size in everything.items() if name.startswith("sql-"))
    assert 300_000 < editor < 380_000
    assert sum(everything.values()) - editor < 300_000


def test_a_link_to_the_lanes_leads_to_the_time_line(page: Page, site: Site) -> None:
    """Such links are in tickets. "Back" leads to where one was before."""
    capture = site.ids["tcp"]
    page.open("about:blank")
    page.open(site.at(f"c/{capture}/threads"))
    page.until(CALM)
    page.see(f"location.hash = '#/c/{capture}/lanes?window=2s..3s&process=order-client&zoom=2.1s..2.5s'")
    page.until("document.querySelector('.line-canvas')?.dataset.painted")
    assert page.see("location.hash.split('?')[0]") == f"#/c/{capture}/timeline"
    assert page.see("location.hash.split('?')[1]") == "window=2s..3s&process=order-client&zoom=2.1s..2.5s"
    page.see("history.back()")
    page.until(f"location.hash === '#/c/{capture}/threads'")


def test_a_selector_stands_in_one_file() -> None:
    """All files of styles count on every page that was visited before: two parts with one name would spoil each other."""
    source = Path(__file__).parents[2] / "api" / "web" / "src"
    places: defaultdict[str, set[str]] = defaultdict(set)
    for path in source.rglob("*.css"):
        # The report is a page of its own.
        if path.name != "report.css":
            rules = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
            for selectors in re.findall(r"([^{};]+)\{", rules):
                for selector in re.findall(r"\.[^,@]+", selectors):
                    places[" ".join(selector.split())].add(path.name)
    assert len(places) > 300
    assert {selector: files for selector, files in places.items() if len(files) > 1} == {}
