"""Uploads that nobody finishes are removed, and those that somebody may still go on with are kept."""

from __future__ import annotations

import signal
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.api.conftest import ROOT, Running, start

DATA = (ROOT / "tests" / "data" / "captures" / "idle.perfcase").read_bytes()
HALF = len(DATA) // 2
UNFINISHED_S = 1.5
SHORT = {"limits": {"unfinished_seconds": UNFINISHED_S}}
SOON_S = 20.0
SLOW_S = 6.0
"""The same where uploads go on: a busy machine takes seconds for a request."""


def rows(store: Path) -> list[tuple[str, int]]:
    """The uploads that the catalogue has, and how much of them has arrived."""
    with closing(sqlite3.connect(store / "catalogue.sqlite3")) as db:
        found = [upload for (upload,) in db.execute("SELECT upload_id FROM upload ORDER BY created_ns")]
    parts = {part.name: part.stat().st_size for part in (store / "uploads").iterdir()}
    assert parts.keys() <= set(found)
    return [(upload, parts.get(upload, 0)) for upload in found]


def within(store: Path, wanted: list[int]) -> bool:
    """Whether so much has arrived of the uploads, soon."""
    end = time.monotonic() + SOON_S
    while [size for _, size in rows(store)] != wanted:
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def half(running: Running, method: str, path: str, *heads: str) -> socket.socket:
    """A connection that has sent half of a capture."""
    connection = socket.create_connection(("127.0.0.1", running.port))
    lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {running.token}",
             f"Content-Length: {len(DATA)}", *heads]  # fmt: skip
    connection.sendall("\r\n".join((*lines, "", "")).encode() + DATA[:HALF])
    return connection


def begin(client: httpx.Client, sent: int) -> str:
    """Begins an upload in parts, and sends so many bytes of it; its id."""
    new = client.post("/v1/uploads", json={"name": "parts.perfcase", "size_bytes": len(DATA)}).json()
    if sent:
        client.patch(f"/v1/uploads/{new['upload_id']}", headers={"Upload-Offset": "0"}, content=DATA[:sent])
    return new["upload_id"]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    served = start(tmp_path / "store", bounds=SHORT)
    yield served
    served.stop()


def test_a_client_that_ends_leaves_nothing(tmp_path: Path) -> None:
    """In one request, whose id it does not know: nothing waits for it."""
    running = start(tmp_path / "store")
    connection = half(running, "POST", "/v1/captures?name=x.perfcase")
    assert within(running.store, [HALF])
    connection.close()
    assert within(running.store, [])
    running.stop()


def test_a_server_that_is_killed_forgets_what_nobody_can_go_on_with(tmp_path: Path) -> None:
    running = start(tmp_path / "store")
    with half(running, "POST", "/v1/captures?name=x.perfcase"), running.client() as client:
        assert within(running.store, [HALF])
        parts = begin(client, HALF)
        running.stop(signal.SIGKILL)
    assert [size for _, size in rows(running.store)] == [HALF, HALF]
    again = start(running.store, running.token)
    assert rows(running.store) == [(parts, HALF)]
    assert not list(running.store.glob("lost+found/*"))
    with again.client() as client:
        assert client.get(f"/v1/uploads/{parts}").json()["offset_bytes"] == HALF
        told = [line for line in client.get("/v1/audit").json() if line["action"] == "recover"]
        assert [line["subject"] for line in told] == [
            f"upload x.perfcase: {HALF:,} of {len(DATA):,} bytes came; removed: the server ended while it came, in one request"
        ]
    again.stop()


def test_an_upload_in_parts_that_nobody_goes_on_with_is_removed(running: Running) -> None:
    with running.client() as client:
        # On a slow machine the first is gone before the second begins: the audit tells of both.
        begin(client, HALF)
        begin(client, 0)
        assert within(running.store, [])
        told = [line["subject"] for line in client.get("/v1/audit").json() if line["action"] == "expire"]
        assert sorted(told) == [
            f"upload parts.perfcase: {arrived:,} of {len(DATA):,} bytes came; removed: no bytes for 1.5 s"
            for arrived in (0, HALF)
        ]


def test_its_time_goes_on_while_no_server_runs(tmp_path: Path) -> None:
    running = start(tmp_path / "store")
    with running.client() as client:
        begin(client, HALF)
    running.stop()
    time.sleep(UNFINISHED_S)
    again = start(running.store, running.token, bounds=SHORT)
    assert rows(running.store) == []
    again.stop()


def test_an_upload_that_gets_bytes_is_kept(tmp_path: Path) -> None:
    """However long it takes: between two parts less than the bound, and within a part as long as the connection lasts."""
    running = start(tmp_path / "store", bounds={"limits": {"unfinished_seconds": SLOW_S}})
    with running.client() as client:
        upload = begin(client, 0)
        for number in range(5):
            sent = client.patch(
                f"/v1/uploads/{upload}", headers={"Upload-Offset": str(number)}, content=DATA[number : number + 1]
            )
            assert sent.status_code == 200, sent.text
            time.sleep(SLOW_S / 3)
        slow = begin(client, 0)
        with half(running, "PATCH", f"/v1/uploads/{slow}", "Upload-Offset: 0") as connection:
            time.sleep(2 * SLOW_S)
            connection.sendall(DATA[HALF:])
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
    running.stop()


def test_what_is_told_where_there_are_too_many(tmp_path: Path) -> None:
    running = start(tmp_path / "store", bounds={"limits": {"uploads_of_user": 1}})
    with running.client() as client:
        begin(client, 0)
        told = client.post("/v1/uploads", json={"name": "x", "size_bytes": 1}).json()["error"]
        assert told["hint"] == "finish them, DELETE some, or wait: one that gets no bytes for 7 days is forgotten"
    running.stop()
