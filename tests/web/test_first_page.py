"""A capture's first page asks only what its import has answered: ``perfcase_api.first_page`` and overview.tsx say the same."""

from __future__ import annotations

from pathlib import Path

from tests.api.conftest import SAMPLES, start, upload
from tests.web.chromium import Page


def test_nothing_is_worked_out_when_it_is_opened(browser: Page, tmp_path: Path) -> None:
    running = start(tmp_path / "store", "", "--open")
    try:
        with running.client() as client:
            capture_id = upload(client, SAMPLES / "d-nagle" / "tcp.perfcase")
        before = {path.name for path in (running.store / "answers").iterdir()}
        browser.requests.clear()
        browser.open(f"http://127.0.0.1:{running.port}/#/c/{capture_id}/overview")
        browser.has("How far to trust it", ".quality")
        browser.has("could not be judged", ".not-judged")
        # Until nothing more is asked for.
        browser.see(
            "new Promise((done) => { let last = -1; const look = () => { const now = performance.getEntriesByType('resource').length;"
            " if (now === last) { done(now); } else { last = now; setTimeout(look, 1000); } }; look(); })"
        )
        asked = [url.partition(capture_id)[2] for url in browser.requests if f"/captures/{capture_id}/" in url]
        assert len([url for url in asked if url.startswith(("/views/", "/findings"))]) > 5
        assert {path.name for path in (running.store / "answers").iterdir()} - before == set(), "\n".join(asked)
    finally:
        running.stop()
