"""The list of captures: upload, search, sort, what belongs to one, delete."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.api.conftest import SAMPLES
from tests.web.chromium import Page
from tests.web.conftest import Site
from tests.web.hostile import TEXT, hostile

ROWS = "[...document.querySelectorAll('.list tbody tr')].map((row) => row.querySelector('.list-name').innerText.split('\\n')[0])"


@pytest.fixture
def shown(page: Page, site: Site) -> Page:
    page.open(site.at("captures"))
    page.until("document.querySelectorAll('.list tbody tr').length >= 4")
    return page


def test_search_goes_into_the_address(shown: Page, look) -> None:
    look("captures")
    shown.press("/")
    shown.until("document.activeElement.matches('.search-main')")
    shown.type("THREE CPU HOGS")
    shown.until(f"{ROWS}.length === 1")
    assert "text=THREE" in shown.see("location.hash")
    shown.has("1 capture", ".table-foot")
    shown.click("button", "Clear")
    shown.until(f"{ROWS}.length >= 4")
    shown.fill("[aria-label=Finding]", "delayed_ack")
    shown.until(f"{ROWS}.length === 2 && {ROWS}.includes('tcp.perfcase')")
    shown.fill("[aria-label=Label]", "nothing has it")
    shown.has("No capture matches.")


def test_a_head_sorts(shown: Page) -> None:
    shown.click(".list th button", "Size")
    shown.until("location.hash.includes('sort=-size')")
    # Other tests upload others.
    three = f"{ROWS}.filter((name) => ['x.perfcase', 'tcp.perfcase', 'pipe.perfcase'].includes(name)).join(' ')"
    shown.until(f"{three} === 'x.perfcase tcp.perfcase pipe.perfcase'")
    shown.click(".list th button", "Size")
    shown.until(f"{three} === 'pipe.perfcase tcp.perfcase x.perfcase'")


def test_two_are_chosen_to_be_compared(shown: Page, site: Site) -> None:
    assert shown.see("[...document.querySelectorAll('button')].find((one) => one.innerText === 'Compare').disabled")
    shown.click("[aria-label='Compare tcp.perfcase']")
    shown.click("[aria-label='Compare pipe.perfcase']")
    shown.click("button", "Compare")
    shown.until("location.hash.startsWith('#/diff?')")
    assert f"a={site.ids['tcp']}" in shown.see("location.hash")
    assert f"b={site.ids['pipe']}" in shown.see("location.hash")


def choose(page: Page, *files: Path) -> None:
    """Choose files, and confirm with what the dialog offers."""
    page.choose_files("input[type=file]", *files)
    page.until("document.activeElement.matches('.upload-dialog input')")
    page.press("Enter")
    page.until("!document.querySelector('.upload-dialog')")


def test_upload_describe_delete(shown: Page, tmp_path: Path, look) -> None:
    file = tmp_path / f"{TEXT.replace('/', '')}.perfcase"
    file.write_bytes(hostile(SAMPLES / "d-nagle" / "pipe.perfcase", b"order-client", ()))
    choose(shown, file)
    shown.has("ready", ".uploads")
    # Names are text, whatever they look like.
    shown.until(f"{ROWS}.filter((name) => name.startsWith('<img')).length === 2")
    assert shown.see("document.querySelectorAll('img').length") == 0
    look("captures-hostile")
    row = "[...document.querySelectorAll('.list tbody tr')].findIndex((row) => row.innerText.includes('<img') && !row.innerText.includes('OPS-66')) + 1"
    shown.click(f".list tbody tr:nth-child({shown.see(row)}) button", "Details")
    shown.has("Delete", "dialog")
    shown.fill("[aria-label='New label']", "<b>canary</b>")
    shown.press("Enter")
    shown.has("<b>canary</b>", "dialog .chip")
    shown.fill("[aria-label='New note']", "the neighbour's batch job\n<script>document.title='hit'</script>")
    shown.click("button", "Add note")
    shown.has("<script>", "dialog .notes-text")
    look("capture-details")
    shown.click("a", "Download original")
    shown.click("button", "Delete")
    shown.has("removed from the server for good")
    shown.click("button", "Cancel")
    shown.click("button", "Delete")
    shown.click("dialog[aria-label^='Delete'] button", "Delete")
    shown.until(f"{ROWS}.filter((name) => name.startsWith('<img')).length === 1")
    assert shown.see("document.title") == "Captures – perfcase"
    downloaded = shown.downloaded()
    assert downloaded.read_bytes() == file.read_bytes()
    downloaded.unlink()


def test_an_upload_goes_on_after_the_connection_broke(shown: Page, site: Site, tmp_path: Path) -> None:
    file = tmp_path / "resumed.perfcase"
    file.write_bytes(hostile(SAMPLES / "x86_64-scheduling" / "x.perfcase", b"hog", ()))
    # The first part is there long before the page hears of it, and then never does.
    shown.call(
        "Network.emulateNetworkConditions", offline=False, latency=3000, downloadThroughput=-1, uploadThroughput=-1
    )
    choose(shown, file)
    with site.running.client() as client:
        store = site.running.store / "uploads"
        while not any(part.stat().st_size == 1 << 20 for part in store.iterdir()):
            time.sleep(0.05)
        shown.call(
            "Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0
        )
        shown.has("the connection broke, trying again", ".uploads")
        shown.call(
            "Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1
        )
        shown.until(
            "[...document.querySelectorAll('.uploads li')].some((one) => /resumed.perfcase\\s+ready/.test(one.innerText))"
        )
        (found,) = [c for c in client.get("/v1/captures").json()["captures"] if c["name"] == file.name]
        assert client.get(f"/v1/captures/{found['capture_id']}/original").content == file.read_bytes()
        client.delete(f"/v1/captures/{found['capture_id']}")
    began = [url for url in shown.requests if url.endswith("/v1/uploads")]
    assert len(began) == 1, "what had arrived was kept"
    assert all("ERR_INTERNET_DISCONNECTED" in problem for problem in shown.problems)
    shown.problems.clear()


def test_what_is_no_capture_is_refused_with_a_reason(shown: Page, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("not a capture\n" * 100)
    box = shown.see("[innerWidth / 2, innerHeight / 2]")
    data = {"items": [], "files": [str(file)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        shown.call("Input.dispatchDragEvent", type=kind, x=box[0], y=box[1], data=data)
    shown.has("notes.txt", ".upload-dialog h2")
    assert not [url for url in shown.requests if url.endswith("/v1/uploads")], "nothing is sent before it is confirmed"
    shown.until("document.activeElement.matches('.upload-dialog input')")
    shown.press("Enter")
    shown.has("not imported", ".uploads-failed")
    shown.has("notes.txt", ".uploads")
    shown.screenshot("upload-refused")
    shown.click("[aria-label='Dismiss notes.txt']")
    shown.until("!document.querySelector('.uploads li .uploads-failed')")
