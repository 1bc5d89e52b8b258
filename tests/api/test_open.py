"""``perfcase open``: a page for a file, found only by who has its address, and nothing behind it at the end."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from perfcase.errors import EXIT_CODES, PerfcaseError
from perfcase_api import serving
from tests.api.conftest import wait_ready
from tests.support.cli import PERFCASE
from tests.support.imports import ROOT, SAMPLES

WAIT_S = 60
SMALL = ROOT / "tests" / "data" / "symbols"
"""Captures of few events, which are imported in a second or two."""


@contextmanager
def opened(place: Path, *words: str | Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command, and the address that it prints."""
    command = [PERFCASE, "open", "--no-browser", *words]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={"TMPDIR": str(place), "PATH": "/usr/bin:/bin"}
    ) as process:
        try:
            yield process, process.stderr.readline().strip()
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_shows_a_file_and_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    with opened(tmp_path, SMALL / "c.perfcase") as (process, address):
        place, capture_id = re.fullmatch(r"(http://127.0.0.1:\d+/[\w-]{32})/#/c/(\w{64})/overview", address).groups()
        with httpx.Client(base_url=place) as client:
            assert "<title>perfcase" in client.get("/").text
            assert wait_ready(client, capture_id)["name"] == "c.perfcase"
            assert client.get("/v1/captures", headers={"Host": "evil.example"}).status_code == 403
            assert client.get("/v1/captures", headers={"Origin": "http://evil.example"}).status_code == 403
        root = place.rpartition("/")[0]
        for path in ("", "/", "/v1/captures", f"/{'x' * 32}/v1/captures", f"{place.removeprefix(root)}x/v1/captures"):
            answer = httpx.get(root + path)
            assert (answer.status_code, answer.json()["error"]["kind"]) == (404, "not_found")
        assert list(tmp_path.iterdir())
        process.send_signal(number)
        assert process.wait(WAIT_S) == 0
    assert list(tmp_path.iterdir()) == []


def test_two_files_are_compared(tmp_path: Path) -> None:
    files = [SMALL / name for name in ("c.perfcase", "jit.perfcase")]
    with opened(tmp_path, *files) as (_, address):
        assert re.fullmatch(r"http://127.0.0.1:\d+/[\w-]{32}/#/diff\?a=\w{64}&b=\w{64}", address)


def test_what_is_no_capture_is_said_without_the_path_of_a_store(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("these are no events")
    with opened(tmp_path, file) as (process, said):
        assert said.startswith("perfcase: notes.txt: not a capture: ")
        assert str(tmp_path) not in said
        assert process.wait(WAIT_S) == EXIT_CODES["input"]
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("begun", ["perfcase-open-*/uploads/*", "perfcase-open-*/captures/*/original"])
def test_one_that_is_stopped_while_it_imports_has_not_failed(begun: str, tmp_path: Path) -> None:
    command = [PERFCASE, "open", "--no-browser", SAMPLES / "x86_64-scheduling" / "x.perfcase"]
    environment = {"TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        end = time.monotonic() + WAIT_S
        while not list(tmp_path.glob(begun)):
            assert time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert (process.wait(WAIT_S), process.stderr.read()) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with opened(tmp_path, tmp_path / "pipe") as (process, said):
        assert "a folder or a pipe" in said
        assert process.wait(WAIT_S) == EXIT_CODES["usage"]


def test_the_address_of_a_server_is_the_one_that_it_has() -> None:
    with serving.listen("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        assert port
        assert serving.url(listening) == f"http://127.0.0.1:{port}"
        with pytest.raises(PerfcaseError, match=rf"127.0.0.1:{port}: cannot be listened on: Address already in use"):
            serving.listen("127.0.0.1", port)
    if socket.has_ipv6:
        with serving.listen("::1", 0) as listening:
            assert re.fullmatch(r"http://\[::1\]:\d+", serving.url(listening))
