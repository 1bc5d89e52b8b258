"""The speedscope export in speedscope itself: every function of every thread, with its figures."""

from __future__ import annotations

import json
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.browser.test_browser import CHROMIUM, node
from tests.support.cli import perfcase
from tests.support.fakecase import make_case

SPEEDSCOPE = Path(__file__).parents[2] / "target" / "tools" / "node_modules" / "speedscope" / "dist" / "release"


class Quiet(SimpleHTTPRequestHandler):
    """Serves speedscope, and the profile as /profile.json."""

    def __init__(self, *arguments: object, profile: Path, **others: object) -> None:
        self.profile = profile
        super().__init__(*arguments, directory=str(SPEEDSCOPE), **others)

    def translate_path(self, path: str) -> str:
        return str(self.profile) if path == "/profile.json" else super().translate_path(path)

    def log_message(self, *_: object) -> None:
        pass


def test_speedscope_shows_every_function(tmp_path: Path) -> None:
    """In thread worker, main calls a (30) and b (10); in the other, main calls b (60)."""
    assert SPEEDSCOPE.exists(), "speedscope is not installed: make test installs it"
    case = make_case(tmp_path / "x.case", {
        "thread": [{"utid": n, "tid": 9 + n, "pid": 10, "comm": comm} for n, comm in ((1, "worker"), (2, "</td>\\"))],
        "perf_event": [{"event_id": 0, "name": "cycles", "is_tracepoint": False}],
        "frame": [
            {"frame_id": n, "address": n, "is_kernel": False, "is_inlined": False, "symbol": name}
            for n, name in enumerate(("main", "leaf a", "leaf b"))
        ],
        "stack": [{"stack_id": 0, "frame_ids": [1, 0]}, {"stack_id": 1, "frame_ids": [2, 0]}],
        "sample": [
            {"sample_id": n, "ts_ns": n, "utid": utid, "event_id": 0, "period": period, "cpu_mode": 2, "stack_id": stack}
            for n, (utid, period, stack) in enumerate([(1, 30, 0), (1, 10, 1), (2, 60, 1)])
        ],
        "capture": [{"name": "incident"}],
    })  # fmt: skip
    file = tmp_path / "x.speedscope.json"
    assert perfcase("export", case, "--to", "speedscope", "-o", file).returncode == 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, profile=file))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        page = f"http://127.0.0.1:{server.server_port}/"
        script = Path(__file__).with_name("speedscope.mjs")
        told = subprocess.run(
            [node(), script, CHROMIUM, tmp_path / "profile", f"{page}index.html#profileURL={page}profile.json"],
            capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
    finally:
        server.shutdown()
    seen = json.loads(told.stdout)
    assert seen["problems"] == []
    assert seen["title"] == "x.case: cycles - speedscope"
    assert {profile: {name: (total, own) for total, own, name in rows} for profile, rows in seen["rows"].items()} == {
        "worker (tid 10) (1/2)": {
            "main": ("40 (100%)", "0 (<0.01%)"), "leaf a": ("30 (75%)", "30 (75%)"), "leaf b": ("10 (25%)", "10 (25%)"),
        },
        "</td>\\ (tid 11) (2/2)": {"main": ("60 (100%)", "0 (<0.01%)"), "leaf b": ("60 (100%)", "60 (100%)")},
    }  # fmt: skip
