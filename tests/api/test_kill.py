"""The server is killed at random moments under load: no finished upload is lost, no capture is half imported."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from perfcase_api import import_worker
from tests.api.conftest import SAMPLES, Running, start, wait_ready
from tests.support.scale import scaled

KILLS = scaled(50)
FILES = [
    SAMPLES / "d-nagle" / "tcp.perfcase",
    SAMPLES / "d-nagle" / "pipe.perfcase",
    SAMPLES / "a-neighbours" / "alone.perfcase",
]
LONG = SAMPLES / "x86_64-scheduling" / "x.perfcase"


def load(running: Running, done: dict[str, bytes], seed: int) -> None:
    """Uploads in parts, each capture different by what follows its end, until the server is gone."""
    choice = random.Random(seed)
    with running.client() as client:
        try:
            while True:
                data = choice.choice(FILES).read_bytes() + b"\0" * 512 * choice.randrange(1, 1 << 16)
                new = client.post("/v1/uploads", json={"name": "x.perfcase", "size_bytes": len(data)}).json()
                offset, sent = 0, {}
                while offset < len(data):
                    part = data[offset : offset + choice.randrange(100_000, 3_000_000)]
                    sent = client.patch(
                        f"/v1/uploads/{new['upload_id']}", headers={"Upload-Offset": str(offset)}, content=part
                    ).json()
                    offset = sent["offset_bytes"]
                    # The server is killed while it imports, too, and not only while it takes in bytes.
                    time.sleep(choice.uniform(0, 0.1))
                done[sent["capture_id"]] = data
        except httpx.TransportError:
            return


def test_kills(tmp_path: Path) -> None:
    choice = random.Random(4711)
    done: dict[str, bytes] = {}
    token = ""
    for number in range(KILLS):
        running = start(tmp_path / "store", token, imports=True)
        token = running.token
        threads = [threading.Thread(target=load, args=(running, done, number * 2 + thread)) for thread in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(choice.uniform(0.05, 1.5))
        # On a slow machine no upload may have ended yet.
        end = time.monotonic() + 60
        while number == KILLS - 1 and not done and time.monotonic() < end:
            time.sleep(0.05)
        running.stop(signal.SIGKILL)
        for thread in threads:
            thread.join()
        check(tmp_path / "store")
        if number % 10 == 9 or number == KILLS - 1:
            forget(tmp_path / "store", token, done)
    assert done


def check(store: Path) -> None:
    """An import is there whole or not at all."""
    for case in (store / "captures").glob("*/case"):
        assert (case / "import.json").is_file()
        assert (case / "case.duckdb").is_file()


def forget(store: Path, token: str, done: dict[str, bytes]) -> None:
    """All that were finished are there, byte for byte, and get imported; then they make room for others."""
    running = start(store, token)
    with running.client() as client:
        listed = {
            capture["capture_id"] for capture in client.get("/v1/captures", params={"limit": 1000}).json()["captures"]
        }
        assert done.keys() <= listed
        for capture_id in list(done)[-2:]:
            capture = wait_ready(client, capture_id)
            assert capture["state"] == "ready", capture
        for capture_id, data in done.items():
            assert client.get(f"/v1/captures/{capture_id}/original").content == data
    running.stop()


def test_an_import_ends_with_its_server(tmp_path: Path) -> None:
    """One that went on would write into the folder of the next server's import."""
    running = start(tmp_path / "store", imports=True)
    with running.client() as client:
        client.post("/v1/captures", params={"name": "x.perfcase"}, content=LONG.read_bytes())
    assert within(10, lambda: list((tmp_path / "store").glob("captures/*/importing/cache")))
    for process in imports_at_work(tmp_path / "store"):
        os.kill(process, signal.SIGSTOP)
    running.stop(signal.SIGKILL)
    is_over = within(5, lambda: not imports_at_work(tmp_path / "store"))
    for process in imports_at_work(tmp_path / "store"):
        os.kill(process, signal.SIGKILL)
    assert is_over


def imports_at_work(store: Path) -> list[int]:
    """The processes that import into a store."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            name = (process / "comm").read_text().strip()
            if name == import_worker.NAME and (process / "cwd").resolve().is_relative_to(store):
                found.append(int(process.name))
    return found


def within(seconds: float, holds: Callable[[], object]) -> bool:
    """Whether this comes to hold in time."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True
