"""The server is killed before one call that writes to its store or removes from it: the next start has each capture whole, or not at all.

tests/api/test_kill.py kills at random moments, under load.
"""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.api.conftest import PERFCASE, ROOT, Running, start, upload, wait_ready
from tests.support.failing import Disk, places
from tests.support.scale import SCALE, scaled

CAPTURE = ROOT / "tests" / "data" / "symbols" / "c.perfcase"
"""A small one, of few events: what an import writes is the same, and it takes a third of the time."""
DATA = CAPTURE.read_bytes()


class Store:
    """A store, whose server begins again after each kill."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "store"
        self.folder.mkdir()
        self._disk = Disk(self.folder, folder / "counters")
        self._token = ""

    def served(self) -> Running:
        """A server without faults."""
        running = start(self.folder, self._token)
        self._token = running.token
        return running

    def killed(self, at: int, work: Callable[[httpx.Client], None]) -> int:
        """Works on a server that is killed at this call (0: at none); how many calls there were."""
        running = start(self.folder, self._token, command=[*self._disk.before, str(PERFCASE)])
        self._disk.kill(at)
        with running.client() as client:
            try:
                work(client)
            except httpx.TransportError:
                assert running.process.wait(30) == -signal.SIGKILL
                return self._disk.calls
        calls = self._disk.calls
        # A server writes a little more or less each time, and may come to its end before the call.
        running.stop()
        return calls

    def captures(self) -> list[str]:
        """The captures' files, and those that no capture has."""
        of_files = (self.folder / "captures", self.folder / "lost+found")
        return sorted(str(path.relative_to(self.folder)) for place in of_files for path in place.rglob("*"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path)
    try:
        made.served().stop()
        made.killed(0, lambda client: None)
    except AssertionError as error:
        if "failing: seccomp" in str(error):
            pytest.skip(f"no calls can be seen here: {error}")
        raise
    return made


def some(calls: int) -> list[int]:
    """Which of the calls the server is killed before."""
    return places(calls, scaled(60, 3) if SCALE >= 1 else 2)


def check(client: httpx.Client, capture: str) -> None:
    """It is there, and whole."""
    assert wait_ready(client, capture)["state"] == "ready"
    assert client.get(f"/v1/captures/{capture}/original").content == DATA
    assert client.get(f"/v1/captures/{capture}/views/thread").status_code == 200


def test_an_upload_and_its_import(store: Store) -> None:
    answered: list[str] = []

    def work(client: httpx.Client) -> None:
        answer = client.post("/v1/captures", params={"name": "x.perfcase"}, content=DATA)
        assert answer.status_code == 201, answer.text
        answered.append(answer.json()["capture_id"])
        wait_ready(client, answered[0])

    for at in (0, *some(store.killed(0, work))):
        if at:
            answered.clear()
            store.killed(at, work)
        running = store.served()
        with running.client() as client:
            listed = [capture["capture_id"] for capture in client.get("/v1/captures").json()["captures"]]
            assert listed or not answered, at
            (capture,) = listed or [upload(client, CAPTURE)]
            check(client, capture)
            assert client.delete(f"/v1/captures/{capture}").status_code == 204
        running.stop()
        assert store.captures() == [], at


def test_a_deletion(store: Store, tmp_path: Path) -> None:
    answered: list[int] = []
    capture = ""

    def work(client: httpx.Client) -> None:
        answered.append(client.delete(f"/v1/captures/{capture}").status_code)

    running = store.served()
    with running.client() as client:
        capture = upload(client, CAPTURE)
    running.stop()
    full = shutil.copytree(store.folder, tmp_path / "full")
    states = set()
    for at in some(store.killed(0, work)):
        for left in store.folder.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        shutil.copytree(full, store.folder, dirs_exist_ok=True)
        answered.clear()
        store.killed(at, work)
        running = store.served()
        with running.client() as client:
            is_there = client.get(f"/v1/captures/{capture}").status_code == 200
            states.add(is_there)
            if is_there:
                assert not answered, at
                check(client, capture)
                assert client.delete(f"/v1/captures/{capture}").status_code == 204
        running.stop()
        assert store.captures() == [], at
    assert states == {True, False}
