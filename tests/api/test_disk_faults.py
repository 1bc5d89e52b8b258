"""A store whose disk fails at one write of an upload or of its import: nothing half is left, and the answer says so."""

from __future__ import annotations

import asyncio
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import perfcase
from perfcase.errors import PerfcaseError
from perfcase.server_client import client as client_module
from perfcase_api.errors import ApiError
from perfcase_api.jobs import Jobs
from perfcase_api.nursery import Nursery
from perfcase_api.settings import Limits
from tests.api.conftest import PERFCASE, ROOT, Running, start, upload, wait_ready
from tests.support.failing import Disk, places
from tests.support.scale import scaled

CAPTURE = ROOT / "tests" / "data" / "symbols" / "c.perfcase"
"""A small one, of few events: what an import writes is the same, and it takes a third of the time."""
ERRORS = (errno.EIO, errno.ENOSPC)
# What the server writes besides: its log of requests, what makes room on a full disk, answers that are kept.
BESIDE = ("catalogue", "reserve", "lock", "answers", "audit", "scratch")


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Disk:
    folder = tmp_path_factory.mktemp("disk")
    (folder / "store").mkdir()
    return Disk(folder / "store", folder / "counters")


@pytest.fixture(scope="module")
def server(disk: Disk, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    try:
        running = start(Path(disk.before[1]), command=[*disk.before, str(PERFCASE)])
    except AssertionError as error:
        if "failing: seccomp" in str(error):
            pytest.skip(f"no calls can fail here: {error}")
        raise
    yield running
    running.stop()


def files(server: Running) -> set[str]:
    found = (path.relative_to(server.store) for path in server.store.rglob("*"))
    return {str(path) for path in found if not path.parts[0].startswith(BESIDE)}


def said(answer: httpx.Response, error: int) -> None:
    """An answer that a client can act on: the kind, the reason and what to do."""
    assert answer.status_code in (503, 507), answer.text
    told = answer.json()["error"]
    assert (told["kind"], bool(told["hint"])) == ("environment", True), told
    # SQLite has its own words.
    assert any(
        word in told["message"]
        for word in (os.strerror(error), "disk I/O error", "is full", "readonly", "unable to open")
    ), told
    if answer.status_code == 507 or "No space" in told["message"]:
        assert (answer.status_code, error) == (507, errno.ENOSPC), told
        assert "make room" in told["hint"] or told["hint"] == "send it again"


@pytest.fixture(scope="module")
def calls(disk: Disk, admin: httpx.Client) -> tuple[int, int]:
    """How many calls an upload takes, and with its import."""
    upload(admin, CAPTURE)
    (capture,) = admin.get("/v1/captures").json()["captures"]
    assert admin.delete(f"/v1/captures/{capture['capture_id']}").status_code == 204
    disk.fail(0)
    answer = admin.post("/v1/captures", params={"name": "x.perfcase"}, content=CAPTURE.read_bytes())
    uploaded = disk.calls
    wait_ready(admin, answer.json()["capture_id"])
    assert admin.delete(f"/v1/captures/{answer.json()['capture_id']}").status_code == 204
    return uploaded, disk.calls


def test_an_upload_in_one_request(disk: Disk, server: Running, admin: httpx.Client, calls: tuple[int, int]) -> None:
    before, data = files(server), CAPTURE.read_bytes()
    codes = set()
    for number, after in enumerate(places(calls[0], scaled(100, 8))):
        error = ERRORS[number % 2]
        disk.fail_next(after, error)
        answer = admin.post("/v1/captures", params={"name": "x.perfcase"}, content=data)
        disk.fail(0)
        codes.add(answer.status_code)
        if answer.status_code != 201:
            said(answer, error)
            assert admin.get("/v1/captures").json()["total"] == 0, after
        else:
            capture = answer.json()["capture_id"]
            assert admin.get(f"/v1/captures/{capture}/original").content == data
            assert admin.delete(f"/v1/captures/{capture}").status_code == 204
        assert files(server) == before, (after, disk.failed)
    assert codes >= {201, 503}


def test_a_check_without_a_folder_leaves_its_place_to_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two uploads are looked at at once: a third finds out whether the places of those that failed are free."""

    def refuse(**_: object) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async def run() -> None:
        jobs = Jobs(1, Limits(), Nursery(tmp_path), tmp_path / "scratch")
        try:
            with monkeypatch.context() as patched:
                patched.setattr(tempfile, "mkdtemp", refuse)
                for _ in range(3):
                    with pytest.raises(ApiError, match="No space left") as refused:
                        await asyncio.wait_for(jobs.check(CAPTURE, 0, is_whole=True), 60)
                    assert (refused.value.kind, refused.value.status) == ("environment", 507)
            assert (await jobs.check(CAPTURE, 0, is_whole=True)).damage == ()
            assert list((tmp_path / "scratch").iterdir()) == []
        finally:
            await jobs.close()

    asyncio.run(run())


def attempt(client: perfcase.Client) -> str | PerfcaseError:
    try:
        return client.upload(CAPTURE, wait=False)["capture_id"]
    except PerfcaseError as refused:
        return refused


def test_an_upload_in_parts_goes_on(
    disk: Disk, server: Running, admin: httpx.Client, calls: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the client that people use: it sends what is missing, and finishes what the server has."""
    monkeypatch.setattr(client_module, "_PART", 12_000)
    client = perfcase.Client(f"http://127.0.0.1:{server.port}/", server.token)
    before, data = files(server), CAPTURE.read_bytes()
    for number, after in enumerate(places(calls[0], scaled(60, 6))):
        disk.fail_next(after, ERRORS[number % 2])
        sent = attempt(client)
        disk.fail(0)
        if isinstance(sent, PerfcaseError):
            # The first request is not made twice.
            assert (sent.kind, files(server)) == ("environment", before), sent
            continue
        capture = sent
        assert admin.get(f"/v1/captures/{capture}/original").content == data
        assert admin.delete(f"/v1/captures/{capture}").status_code == 204
        assert files(server) == before, (after, disk.failed)


def test_a_disk_that_stays_broken(
    disk: Disk, server: Running, admin: httpx.Client, calls: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client gives up and says how to go on; the server answers, and takes the capture when the disk is well."""
    monkeypatch.setattr(client_module, "_WAIT_MAX_S", 0.01)
    client = perfcase.Client(f"http://127.0.0.1:{server.port}/", server.token)
    for after in places(calls[0], scaled(20, 2)):
        disk.fail_next(after, errno.ENOSPC, length=1 << 40)
        sent = attempt(client)
        assert admin.get("/v1/health").status_code == 200
        disk.fail(0)
        if isinstance(sent, PerfcaseError):
            assert (sent.kind, bool(sent.hint)) == ("environment", True), sent
        else:
            assert admin.delete(f"/v1/captures/{sent}").status_code == 204
    capture = upload(admin, CAPTURE)
    assert admin.get(f"/v1/captures/{capture}").json()["state"] == "ready"
    assert admin.delete(f"/v1/captures/{capture}").status_code == 204


def test_an_import_that_the_disk_ends(disk: Disk, server: Running, admin: httpx.Client, calls: tuple[int, int]) -> None:
    before, data = files(server), CAPTURE.read_bytes()
    states = set()
    uploaded, whole = calls
    for number, after in enumerate(places(whole - uploaded, scaled(40, 3))):
        disk.fail_next(uploaded + after, ERRORS[number % 2])
        answer = admin.post("/v1/captures", params={"name": "x.perfcase"}, content=data)
        if answer.status_code != 201:  # it wrote a little more than the first time
            disk.fail(0)
            continue
        capture = answer.json()["capture_id"]
        found = wait_ready(admin, capture)
        disk.fail(0)
        states.add(found["state"])
        if found["state"] == "failed":
            assert found["reason"], (after, disk.failed)
            assert admin.post(f"/v1/captures/{capture}/import").status_code == 202
            assert wait_ready(admin, capture)["state"] == "ready"
        assert admin.get(f"/v1/captures/{capture}/views/thread").status_code == 200
        assert admin.delete(f"/v1/captures/{capture}").status_code == 204
        assert files(server) == before, (after, disk.failed)
    assert "failed" in states
