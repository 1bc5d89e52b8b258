"""The dialog before an upload, and an upload that is followed through the queue and cancelled."""

from __future__ import annotations

import gzip
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from perfcase.catalogue.privacy import unredacted
from perfcase.text import safe
from tests.api.conftest import SAMPLES, Running, start
from tests.support import private_capture
from tests.support.cli import perfcase
from tests.web.chromium import Page
from tests.web.conftest import Site
from tests.web.hostile import TEXT, hostile
from tests.web.test_accessible import violations
from tests.web.test_captures_list import choose

FIELD = "document.querySelector('.upload-dialog input')"
LINES = "[...document.querySelectorAll('.uploads li')].map((one) => one.innerText.replace(/\\s+/g, ' '))"
ROWS = "[...document.querySelectorAll('.list tbody tr')].map((one) => one.querySelector('.list-name').innerText.replace(/\\s+/g, ' '))"


def variant(folder: Path, number: int) -> Path:
    """A capture that no other test has."""
    file = folder / f"variant-{number}.perfcase"
    file.write_bytes(
        hostile(SAMPLES / "d-nagle" / "pipe.perfcase", f"order-server-{number}".encode(), ()) + bytes(512 * number)
    )
    return file


@pytest.fixture
def shown(page: Page, site: Site) -> Page:
    page.open("about:blank")
    page.open(site.at("captures"))
    page.until("document.querySelectorAll('.list tbody tr').length >= 4")
    page.see("localStorage.removeItem('perfcase.upload-for')")
    return page


def test_ticket_and_labels_are_asked_for_and_remembered(
    shown: Page, site: Site, client: httpx.Client, tmp_path: Path, look
) -> None:
    file = tmp_path / f"{TEXT.replace('/', '')}-2.perfcase"
    file.write_bytes(variant(tmp_path, 1).read_bytes())
    shown.choose_files("input[type=file]", file)
    # The list begins with the field of the ticket; known tickets are offered, as text.
    shown.until(f"document.activeElement === {FIELD}")
    shown.until("[...document.querySelectorAll('#known-tickets option')].some((one) => one.value === '<b>OPS-66</b>')")
    assert violations(shown) == []
    look("upload-dialog")
    shown.type("OPS-99")
    shown.press("Tab")
    shown.type("build=41,  canary , <b>x</b>,build=41")
    assert not [url for url in shown.requests if url.endswith("/v1/uploads")]
    shown.press("Enter")
    shown.until(f"{LINES}.some((one) => one.includes('-2.perfcase ready'))")
    (capture,) = client.get("/v1/captures", params={"ticket": "OPS-99"}).json()["captures"]
    assert {"build=41", "canary", "<b>x</b>"} <= set(capture["labels"])
    # The next file begins with them; the same file keeps what it has, and the page says so.
    shown.choose_files("input[type=file]", file)
    shown.until(f"{FIELD}?.value === 'OPS-99'")
    assert shown.see("document.querySelectorAll('.upload-dialog input')[1].value") == "build=41, canary, <b>x</b>"
    shown.fill(".upload-dialog input", "OPS-1")
    shown.press("Enter")
    shown.has("it was here before, with the ticket and labels that it has", ".uploads")
    assert client.get(f"/v1/captures/{capture['capture_id']}").json()["ticket"] == "OPS-99"
    client.delete(f"/v1/captures/{capture['capture_id']}")
    assert shown.see("document.title") == "Captures – perfcase"


def test_the_ticket_of_the_list_comes_first_and_escape_sends_nothing(shown: Page, site: Site, tmp_path: Path) -> None:
    shown.see('localStorage.setItem(\'perfcase.upload-for\', \'{"ticket": "OLD-1", "labels": 7}\')')
    shown.open(site.at("captures?ticket=OPS-17"))
    shown.until("document.querySelectorAll('.list tbody tr').length === 2")
    shown.choose_files("input[type=file]", variant(tmp_path, 2))
    shown.until(f"{FIELD}?.value === 'OPS-17'")
    shown.fill(".upload-dialog input[placeholder^=build]", "x" * 101)
    shown.has("A label may have 100 characters.", ".upload-dialog")
    shown.press("Enter")
    shown.press("Escape")
    shown.until("!document.querySelector('.upload-dialog')")
    shown.choose_files("input[type=file]", variant(tmp_path, 2))
    shown.click(".upload-dialog button", "Cancel")
    shown.until("!document.querySelector('.upload-dialog')")
    assert not [url for url in shown.requests if url.endswith("/v1/uploads")]


WARNING = "document.querySelector('.upload-dialog .upload-warning')?.innerText ?? ''"


def test_what_is_not_redacted_is_said_before_it_is_sent(shown: Page, site: Site, tmp_path: Path, look) -> None:
    """In the words of the command line, from the manifest alone."""
    plain, bare, other = tmp_path / f"{TEXT.replace('/', '')}.perfcase", tmp_path / "perf.data", tmp_path / "x.gz"
    redacted, cut = tmp_path / "out.perfcase", tmp_path / "cut.perfcase"
    private_capture.write(plain)
    assert perfcase("redact", plain, "-o", redacted).returncode == 0
    bare.write_bytes(b"PERFILE2" + bytes(2000))
    other.write_bytes(gzip.compress(plain.read_bytes()))
    cut.write_bytes(plain.read_bytes()[:700])

    def said(*files: Path) -> str:
        shown.choose_files("input[type=file]", *files)
        shown.until("document.querySelector('.upload-dialog')")
        # Whether there is a sentence is known when the files were read.
        shown.until(f"{WARNING} !== ''" if set(files) & {plain, bare} else "true")
        text = shown.see(WARNING)
        if plain in files:
            assert violations(shown) == []
            look(f"upload-not-redacted-{len(files)}")
        shown.press("Escape")
        shown.until("!document.querySelector('.upload-dialog')")
        return text

    assert said(plain) == unredacted(plain.name)
    assert said(bare) == unredacted("perf.data")
    tail = unredacted("FILE").partition(". ")[2]
    assert said(plain, redacted, bare) == f"2 of 3 files are not redacted: {safe(plain.name)}, perf.data. {tail}"
    assert [said(redacted), said(other), said(cut)] == ["", "", ""]
    assert not [url for url in shown.requests if url.endswith("/v1/uploads")]


def test_a_server_that_takes_only_redacted_captures_gets_nothing_of_others(page: Page, tmp_path: Path) -> None:
    private_capture.write(tmp_path / "x.perfcase")
    running = start(tmp_path / "store", "", "--open", "--only-redacted")
    page.open("about:blank")
    page.open(f"http://127.0.0.1:{running.port}/#/captures")
    page.until("document.querySelector('main .empty')")
    choose(page, tmp_path / "x.perfcase")
    page.until(
        f"{LINES}.some((one) => one.includes('this server takes only captures that are redacted; perfcase redact'))"
    )
    assert not [url for url in page.requests if "/v1/uploads/" in url]
    page.problems.clear()
    leave(page)
    running.stop()


def test_cancelled_while_it_is_sent(shown: Page, site: Site, tmp_path: Path) -> None:
    file = variant(tmp_path, 3)
    with shown.hold("*/v1/uploads/*"):
        choose(shown, file)
        shown.until(f"{LINES}.some((one) => one.startsWith('variant-3.perfcase 0 B of'))")
        shown.click(f"[aria-label='Cancel {file.name}']")
        # The first part is given up, and the server told to forget the rest.
        shown.release()
        shown.until(f"!{LINES}.some((one) => one.includes('variant-3'))" if shown.held else "true")
        end = time.monotonic() + 20
        while shown.see(f"{LINES}.some((one) => one.includes('variant-3'))"):
            shown.release()
            assert time.monotonic() < end
            time.sleep(0.05)
    assert list((site.running.store / "uploads").iterdir()) == []
    assert shown.see("Object.keys(localStorage).filter((one) => one.startsWith('perfcase.upload.'))") == []


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Running]:
    """A server of its own, whose imports stop at the first look: the test holds the process."""
    running = start(tmp_path / "held", "", "--open", "--requests-per-minute", "1000000", imports=True)
    yield running
    running.stop()


def children(pid: int) -> list[int]:
    """The processes below one."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found += [int(stat.parent.name), *children(int(stat.parent.name))]
    return found


def importing(running: Running) -> int:
    """Stop the process of the import at work, once it is there: its pid."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        for pid in children(running.process.pid):
            try:
                name = Path(f"/proc/{pid}/comm").read_text()
            except OSError:
                continue
            if "import" in name:
                os.kill(pid, signal.SIGSTOP)
                return pid
        time.sleep(0.005)
    raise AssertionError("no import began")


def leave(page: Page) -> None:
    """Leave the server of a test: the fixture knows only the common one."""
    page.open("about:blank")
    page.until("location.href === 'about:blank'")
    page.requests.clear()


def test_the_place_in_the_queue_and_the_step_and_cancel_in_each(
    page: Page, held: Running, tmp_path: Path, look
) -> None:
    large = tmp_path / "large.perfcase"
    large.write_bytes((SAMPLES / "x86_64-scheduling" / "x.perfcase").read_bytes())
    page.open("about:blank")
    page.open(f"http://127.0.0.1:{held.port}/#/captures")
    page.until("document.querySelector('main .empty')")
    choose(page, large)
    pid = importing(held)
    for number in (4, 5):
        choose(page, variant(tmp_path, number))
        page.until(f"{LINES}.some((one) => one.startsWith('variant-{number}.perfcase waits for its import: '))")
    page.until(f"{LINES}.some((one) => one.includes('variant-4.perfcase waits for its import: 2nd of 3'))")
    page.until(f"{LINES}.some((one) => one.includes('variant-5.perfcase waits for its import: 3rd of 3'))")
    page.until(f"{ROWS}.some((one) => one.startsWith('large.perfcaseimporting'))")
    page.until(f"{ROWS}.some((one) => one.startsWith('variant-5.perfcasewaiting waits for its import: 3rd of 3'))")
    assert violations(page) == []
    look("imports")
    # One connection tells of all of them.
    assert len([url for url in page.requests if url.endswith("/v1/imports")]) <= 3
    page.click("[aria-label='Cancel variant-4.perfcase']")
    page.until(f"{LINES}.some((one) => one.includes('variant-5.perfcase waits for its import: 2nd of 2'))")
    page.until(f"{ROWS}.length === 2")
    page.click("[aria-label='Cancel large.perfcase']")
    page.until(f"{LINES}.some((one) => one.includes('variant-5.perfcase ready'))")
    page.until(f"{ROWS}.length === 1")
    assert not Path(f"/proc/{pid}").exists()
    with held.client() as client:
        (kept,) = client.get("/v1/captures").json()["captures"]
        assert kept["name"] == "variant-5.perfcase"
        actions = [entry["action"] for entry in client.get("/v1/audit").json()]
        assert actions.count("DELETE /v1/captures/{capture_id}/import") == 2
    assert [folder.name for folder in (held.store / "captures").iterdir()] == [kept["capture_id"]]
    leave(page)


def test_an_import_that_this_page_did_not_send(page: Page, held: Running, tmp_path: Path) -> None:
    """Its row says how far it is, and cancels it."""
    with held.client() as client:
        data = (SAMPLES / "x86_64-scheduling" / "x.perfcase").read_bytes()
        client.post("/v1/captures", params={"name": "theirs.perfcase"}, content=data)
        importing(held)
        page.open("about:blank")
        page.open(f"http://127.0.0.1:{held.port}/#/captures")
        page.until(f"{ROWS}.some((one) => one.startsWith('theirs.perfcaseimporting'))")
        page.click("[aria-label='Cancel the import of theirs.perfcase']")
        page.has("No captures yet", "main .empty")
        assert client.get("/v1/captures").json()["total"] == 0
    leave(page)


def test_a_page_that_was_opened_too_early_comes_when_the_import_ends(page: Page, held: Running, tmp_path: Path) -> None:
    """Nobody loads it again: it says how far the import is, and then it is there, at the address that was opened."""
    with held.client() as client:
        capture = client.post("/v1/captures", params={"name": "early.perfcase"}, content=variant(tmp_path, 6).read_bytes()).json()["capture_id"]  # fmt: skip
        pid = importing(held)
        page.open("about:blank")
        page.open(f"http://127.0.0.1:{held.port}/#/c/{capture}/threads?window=0s..9s")
        page.until("document.querySelector('main .import-progress')")
        assert violations(page) == []
        page.see("window.isSame = true")
        os.kill(pid, signal.SIGCONT)
        page.until("document.querySelectorAll('main tbody tr').length > 0")
        assert page.see("window.isSame") is True
        assert not [url for url in page.requests if "/views/thread_time" in url and "window=0s..9s" not in url]
        # One that is cancelled or deleted meanwhile is said to be gone.
        gone = client.post("/v1/captures", params={"name": "gone.perfcase"}, content=variant(tmp_path, 7).read_bytes()).json()["capture_id"]  # fmt: skip
        importing(held)
        page.open(f"http://127.0.0.1:{held.port}/#/c/{gone}/overview")
        page.until("document.querySelector('main .import-progress')")
        client.delete(f"/v1/captures/{gone}")
        page.has("There is no such capture", "main")
    page.problems.clear()
    leave(page)
