"""A real server on a store of its own, and clients of it."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.support.servers import Copy

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "sample-captures"
PERFCASE = Path(sys.executable).with_name("perfcase")
START_S = 60
IMPORT_S = 120


@dataclass
class Running:
    """A server: its address, its store, the first admin's token."""

    store: Path
    port: int
    process: Copy | subprocess.Popen
    token: str = ""

    def client(self, token: str | None = None) -> httpx.Client:
        """A client with a token; default: the admin's."""
        given = self.token if token is None else token
        headers = {"Authorization": f"Bearer {given}"} if given else {}
        # To read the certificates of all authorities takes 30 ms, and there is no TLS here.
        return httpx.Client(base_url=f"http://127.0.0.1:{self.port}", headers=headers, timeout=400, verify=False)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Ends it."""
        self.process.send_signal(number)
        self.process.wait(30)


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(
    store: Path,
    token: str = "",
    *options: str,
    port: int = 0,
    bounds: dict[str, dict[str, float]] | None = None,
    command: list[str] | None = None,
    imports: bool = False,
) -> Running:
    """Starts a server and waits until it answers; on a free port if none is given.

    ``bounds``: fields of ``Limits`` and of ``ConnectionLimits`` that have no option, by ``limits`` and ``connections``. ``command``: what to run
    instead of perfcase. ``imports``: it imports what others have imported, too (tests/support/borrowed.py).
    """
    port = port or free_port()
    log = (store.parent / f"{store.name}.log").open("w+")
    words = ["serve", "--store", str(store), "--port", str(port), *options]
    process = (
        subprocess.Popen([*command, *words], stderr=log) if command else Copy(words, bounds or {}, log, imports=imports)
    )
    running = Running(store, port, process, token)
    end = time.monotonic() + START_S
    with running.client() as client:
        while True:
            try:
                client.get("/v1/health")
                break
            except httpx.TransportError:
                assert process.poll() is None, Path(log.name).read_text()
                assert time.monotonic() < end, "the server did not start"
                time.sleep(0.05)
    told = re.search(r"pc_\S+", Path(log.name).read_text())
    if told:
        running.token = told.group()
    return running


def upload(client: httpx.Client, file: Path, **query: str) -> str:
    """Uploads a capture and waits until it is imported; its id. It has this ticket then, whichever test may have sent it before."""
    answer = client.post("/v1/captures", params={"name": file.name, **query}, content=file.read_bytes())
    assert answer.status_code == 201, answer.text
    capture_id = answer.json()["capture_id"]
    ticket = wait_ready(client, capture_id).get("ticket")
    if "ticket" in query and ticket != query["ticket"]:
        answer = client.patch(f"/v1/captures/{capture_id}", json={"ticket": query["ticket"]})
        assert answer.status_code == 200, answer.text
    return capture_id


def wait_ready(client: httpx.Client, capture_id: str) -> dict:
    """Waits for the end of an import."""
    end = time.monotonic() + IMPORT_S
    while time.monotonic() < end:
        capture = client.get(f"/v1/captures/{capture_id}").json()
        if capture["state"] in ("ready", "failed"):
            return capture
        time.sleep(0.1)
    raise AssertionError(f"not imported in time: {capture}")


@contextmanager
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server on an empty store."""
    # As long as an analysis takes on a busy machine.
    running = start(tmp_path_factory.mktemp("server") / "store", "", "--job-seconds", "300")
    yield running
    running.stop()


@pytest.fixture(scope="session")
def common_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(tmp_path_factory) as running:
        yield running


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server. It is one for all modules but those that say ``COUNTS_CAPTURES``: theirs has what they uploaded and nothing else."""
    if not getattr(request.module, "COUNTS_CAPTURES", False):
        yield request.getfixturevalue("common_server")
        return
    with serving(tmp_path_factory) as running:
        yield running


@pytest.fixture(scope="module")
def admin(server: Running) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


@pytest.fixture(scope="module")
def tcp(admin: httpx.Client) -> str:
    """The id of an imported capture."""
    return upload(admin, SAMPLES / "d-nagle" / "tcp.perfcase", ticket="OPS-1")


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that stops an analysis after a second of CPU time, with one capture."""
    running = start(tmp_path_factory.mktemp("short") / "store", "", "--job-seconds", "1")
    with running.client() as client:
        upload(client, SAMPLES / "d-nagle" / "pipe.perfcase")
    yield running
    running.stop()
