"""perfcase attach to a webhook, with the capture on a perfcase server beside it, and an adapter of somebody else's."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import perfcase
from tests.api.conftest import start
from tests.support.cli import Done, process
from tests.support.cli import perfcase as perfcase_command
from tests.support.imports import SAMPLES, placed

TCP = SAMPLES / "d-nagle" / "tcp.perfcase"


class Receiver(BaseHTTPRequestHandler):
    """Keeps what it gets."""

    forms: list[tuple[str | None, dict[str, EmailMessage]]] = []  # noqa: RUF012 - of the class

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Authorization"] != "Bearer token":
            self.send_error(403)
            return
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        parts = BytesParser(policy=HTTP).parsebytes(head + data).iter_parts()
        self.forms.append((self.path, {part.get_param("name", header="content-disposition"): part for part in parts}))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[str]:
    served = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=served.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{served.server_port}/hook?room=1"
    served.shutdown()


def attach(*arguments: object, **environment: str) -> Done:
    """Runs the command."""
    return perfcase_command("attach", *arguments, **{"PERFCASE_TRACKER_CREDENTIALS": "token", **environment})


def test_a_form_with_the_file_and_a_link(receiver: str, tmp_path: Path) -> None:
    file = placed(TCP, tmp_path)
    server = start(tmp_path / "store")
    url = f"http://127.0.0.1:{server.port}"
    done = attach(
        file,
        "--tracker",
        receiver,
        "--issue",
        "OPS7",
        "--adapter",
        "webhook",
        "--server",
        url,
        PERFCASE_TOKEN=server.token,
    )
    assert done.returncode == 0, done.stderr
    path, form = Receiver.forms[-1]
    (capture,) = perfcase.Client(url, server.token).captures()
    server.stop()
    assert (capture["ticket"], path) == ("OPS7", "/hook?room=1")
    assert form["issue"].get_content() == "OPS7"
    assert form["text"].get_content().splitlines()[0] == f"perfcase: {file.name}: 1 finding"
    assert f"{url}/#/c/{capture['capture_id']}/overview" in form["text"].get_content()
    assert form["file"].get_filename() == file.name
    assert form["file"].get_content() == file.read_bytes()


def test_a_refusal(receiver: str, tmp_path: Path) -> None:
    file = placed(TCP, tmp_path)
    arguments = (file, "--tracker", receiver, "--issue", "7", "--adapter", "webhook")
    done = attach(*arguments, PERFCASE_TRACKER_CREDENTIALS="other")
    assert (done.returncode, "HTTP 403" in done.stderr, "--credentials FILE" in done.stderr) == (7, True, True)
    assert attach(*arguments, "--dry-run").stdout.startswith(f"POST {receiver} (issue 7; text, ")


def test_an_adapter_that_another_package_brings(sample: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "class Adapter:\n"
        "    def __init__(self, url, authorization):\n        self.url = url\n"
        "    def attach(self, issue, text, attachment):\n        return f'{self.url} {issue} {attachment.name}'\n"
    )
    installed = tmp_path / "mine-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (installed / "entry_points.txt").write_text("[perfcase.tracker]\nmine = mine:Adapter\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = process(
        "attach",
        sample("d-nagle/tcp"),
        "--tracker",
        "x",
        "--issue",
        "7",
        "--adapter",
        "mine",
        "--summary",
        PYTHONPATH=path,
        PERFCASE_TRACKER_CREDENTIALS="token",
    )
    assert done.stdout.endswith("x 7 tcp.case.summary.html\n"), done.stderr
