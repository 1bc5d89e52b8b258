"""The folder of a store: nothing that was uploaded is lost by what becomes of the catalogue or of the disk."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from perfcase.case import store, wholeness
from perfcase_api.answers import AnswerCache
from perfcase_api.catalogue import Catalogue
from perfcase_api.imports import Imports
from perfcase_api.settings import Limits, Settings
from perfcase_api.storage import RESERVE_BYTES
from perfcase_api.uploads import Uploads
from tests.api.conftest import PERFCASE, SAMPLES, start, upload, wait_ready
from tests.api.stores import no_check, store_with
from tests.support.imports import imported

PIPE = SAMPLES / "d-nagle" / "pipe.perfcase"
SMALL = SAMPLES.parent / "tests" / "data" / "symbols" / "c.perfcase"
CATALOGUE = "catalogue.sqlite3"


@pytest.fixture
def anything(tmp_path: Path) -> Path:
    """A file that is no capture: it is kept like one, and its import has failed at once."""
    file = tmp_path / "notes.txt"
    file.write_text("this is no capture")
    return file


def log(store: Path) -> str:
    return store.with_name(f"{store.name}.log").read_text()


@pytest.mark.parametrize("has_older", [False, True], ids=["lost", "older"])
def test_a_catalogue_that_does_not_know_a_capture_deletes_none(tmp_path: Path, has_older: bool, anything: Path) -> None:
    store, older = tmp_path / "store", tmp_path / "older.sqlite3"
    running = start(store)
    with closing(sqlite3.connect(store / CATALOGUE)) as now, closing(sqlite3.connect(older)) as copy:
        now.backup(copy)
    with running.client() as client:
        capture_id = upload(client, anything)
        new = client.post("/v1/uploads", json={"name": "x", "size_bytes": 10}).json()
        client.patch(f"/v1/uploads/{new['upload_id']}", headers={"Upload-Offset": "0"}, content=b"abc")
    running.stop()
    for file in store.glob("catalogue*"):
        file.unlink()
    if has_older:
        shutil.copy(older, store / CATALOGUE)
    running = start(store, running.token)
    aside = store / "lost+found"
    assert (aside / capture_id / "original").read_bytes() == anything.read_bytes()
    assert (aside / new["upload_id"]).read_bytes() == b"abc"
    assert f"moved to {aside / capture_id}" in log(store)
    with running.client() as client:
        told = [entry["subject"] for entry in client.get("/v1/audit").json() if entry["action"] == "recover"]
        assert any(capture_id in line for line in told)
        assert upload(client, aside / capture_id / "original") == capture_id, "it can be uploaded again"
    running.stop()


def test_a_catalogue_that_knows_more_than_there_is(tmp_path: Path) -> None:
    running = start(tmp_path / "store")
    with running.client() as client:
        capture_id = upload(client, PIPE)
    running.stop()
    shutil.rmtree(tmp_path / "store" / "captures" / capture_id)
    running = start(tmp_path / "store", running.token)
    with running.client() as client:
        capture = client.get(f"/v1/captures/{capture_id}").json()
        assert (capture["state"], capture["reason"]) == ("failed", "its files are missing from the store")
        assert client.delete(f"/v1/captures/{capture_id}").status_code == 204
    running.stop()


def test_what_was_deleted_when_the_server_was_killed_is_not_found_again(tmp_path: Path, anything: Path) -> None:
    running = start(tmp_path / "store")
    with running.client() as client:
        capture_id = upload(client, anything)
    running.stop()
    catalogue = Catalogue(tmp_path / "store" / CATALOGUE)
    Uploads(Settings(tmp_path / "store"), catalogue, no_check).forget(capture_id)
    catalogue.close()
    running = start(tmp_path / "store", running.token)
    assert not (tmp_path / "store" / "captures" / capture_id).exists()
    assert not (tmp_path / "store" / "lost+found").exists()
    running.stop()


def test_one_server_at_a_time(tmp_path: Path) -> None:
    running = start(tmp_path / "store")
    second = [PERFCASE, "serve", "--store", tmp_path / "store", "--port", "0"]
    refused = subprocess.run(second, capture_output=True, text=True, check=False, timeout=60)
    assert refused.returncode == 2
    assert "another server uses this store" in refused.stderr
    running.stop(signal.SIGKILL)
    start(tmp_path / "store", running.token).stop()


def test_a_capture_that_is_deleted_stops_its_import(tmp_path: Path) -> None:
    """An import of a minute is gone at once, with its files, and the next one begins."""
    script = f"touch {tmp_path}/began; [ -e {tmp_path}/second ] && exit 1\nexec sleep 60\n"
    settings, catalogue, uploads, nursery = store_with("ab", tmp_path, script)

    async def run() -> float:
        imports = Imports(settings, catalogue, uploads, nursery)
        imports.start()
        while not (tmp_path / "began").exists():
            await asyncio.sleep(0.02)
        (tmp_path / "second").touch()
        began = time.monotonic()
        uploads.forget("a")
        await imports.stop("a")
        uploads.remove("a")
        took = time.monotonic() - began
        assert [state async for state in imports.follow("b")][-1]["state"] == "failed"
        await imports.close()
        return took

    assert asyncio.run(run()) < 10
    assert [folder.name for folder in uploads.captures.iterdir()] == ["b"]


def test_an_import_that_ended_has_no_phase(tmp_path: Path) -> None:
    """Its process may be known for a moment longer."""
    settings, catalogue, uploads, nursery = store_with("a", tmp_path, "")
    imports = Imports(settings, catalogue, uploads, nursery)
    imports._progress["a"] = {"phase": "findings", "records": 1}
    states = []
    for state in ("importing", "ready"):
        catalogue.write("UPDATE capture SET state = ?", (state,))
        states.append(imports.state("a"))
    assert states == [{"state": "importing", "phase": "findings", "records": 1}, {"state": "ready"}]


def test_an_import_that_makes_files_without_end(tmp_path: Path) -> None:
    script = 'cd "$folder"; n=0; while :; do n=$((n + 1)); : >$n; sleep 0.01; done\n'
    settings, catalogue, uploads, nursery = store_with("a", tmp_path, script, Limits(import_files_max=50))

    async def run() -> dict:
        imports = Imports(settings, catalogue, uploads, nursery)
        imports.start()
        last = [state async for state in imports.follow("a")][-1]
        await imports.close()
        return last

    assert "or 50 files" in asyncio.run(run())["reason"]
    assert list((uploads.captures / "a").iterdir()) == [uploads.file("a")]


async def last_state(imports: Imports) -> dict:
    """How the import of the capture a ends."""
    imports.start()
    last = [state async for state in imports.follow("a")][-1]
    await imports.close()
    return last


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ('sleep 1; echo \'{"error": "by itself"}\'', "by itself"),
        ("kill -XCPU $$", "stopped after 0.3 s of CPU time"),
        ("exec sleep 60", "stopped after 3 s, in which it used less than 0.3 s of CPU time"),
    ],
    ids=["it waits", "it works", "it hangs"],
)
def test_an_import_is_limited_in_cpu_time(tmp_path: Path, script: str, reason: str) -> None:
    """On a busy machine it may take longer than that."""
    settings, catalogue, uploads, nursery = store_with("a", tmp_path, script, Limits(import_seconds=0.3))
    assert asyncio.run(last_state(Imports(settings, catalogue, uploads, nursery)))["reason"] == reason


def test_tables_are_looked_at_while_the_server_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, catalogue, uploads, nursery = store_with("a", tmp_path, 'echo \'{"error": "imported again"}\'')
    shutil.copytree(imported(PIPE).folder, uploads.case("a"))
    catalogue.write("UPDATE capture SET state = 'ready'")
    looked: list[str | None] = []
    damage = wholeness.damage

    def look(*given: object) -> str | None:
        looked.append(damage(*given))  # type: ignore[arg-type]
        return looked[-1]

    monkeypatch.setattr(wholeness, "damage", look)

    async def run() -> None:
        whole = Imports(settings, catalogue, uploads, nursery)
        whole.start()
        assert looked == []
        while not looked:
            await asyncio.sleep(0.01)
        await whole.close()
        assert looked == [None]
        assert whole.state("a") == {"state": "ready"}
        with (uploads.case("a") / "tables" / "thread.parquet").open("r+b") as table:
            table.truncate(100)
        broken = Imports(settings, catalogue, uploads, nursery)
        broken.start()
        while broken.state("a")["state"] != "failed":
            await asyncio.sleep(0.01)
        assert broken.state("a")["reason"] == "imported again"
        await broken.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    "lie",
    [{"files": []}, {"files": {"tables/thread.parquet": "x"}}, {"files": {"tables/thread.parquet": 1 << 70}}, {"tables": {"\0": 1}},
     {"tables": {"\ud800": 1}}],
)  # fmt: skip
def test_no_description_of_an_import_stops_the_server(tmp_path: Path, lie: dict) -> None:
    """The process that wrote it read an untrusted file."""
    case = tmp_path / "case"
    shutil.copytree(imported(PIPE).folder, case)
    (case / "import.json").write_text(json.dumps({**store.read_info(case), **lie}))
    assert store.is_current(case) in (True, False)
    assert not store.is_whole(case)


FULL = """
import os, subprocess, sys
store = sys.argv[1]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=192m", "tmpfs", store], check=True)
os.execv(sys.argv[2], sys.argv[2:])
"""


def test_on_a_full_disk_one_can_sign_in_and_delete(tmp_path: Path) -> None:
    """The disk is a small one in memory, which is filled to its last byte from outside."""
    # Root needs no user namespace, which some machines forbid.
    outside = ["unshare", "--mount", *(["--map-root-user"] if os.getuid() else [])]
    tried = subprocess.run([*outside, "true"], check=False, capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"no mount namespace for a small disk of our own: {tried.stderr.strip()}")
    (tmp_path / "store").mkdir()
    wrapped = [*outside, sys.executable, "-c", FULL, tmp_path / "store"]
    running = start(tmp_path / "store", command=[*map(str, wrapped), str(PERFCASE)])
    inside = Path(f"/proc/{running.process.pid}/root{tmp_path}/store")
    with running.client() as client:
        capture_id = upload(client, SMALL)
        assert (inside / "reserve").stat().st_size == RESERVE_BYTES
        with (inside / "filling").open("wb", buffering=0) as file:
            try:
                while file.write(bytes(1 << 16)):
                    pass
            except OSError:
                pass
        refused = client.post("/v1/captures", params={"name": "x"}, content=b"x" * 1000)
        assert (refused.status_code, refused.json()["error"]["kind"]) == (507, "environment"), refused.text
        assert "No space left" in refused.json()["error"]["message"]
        assert not (inside / "reserve").exists()
        assert client.get(f"/v1/captures/{capture_id}").status_code == 200
        with running.client("") as browser:
            assert browser.post("/v1/session", json={"token": running.token}).status_code == 201
            assert browser.get("/v1/me").status_code == 200
        assert client.delete(f"/v1/captures/{capture_id}").status_code == 204
        assert client.get("/v1/captures").json()["total"] == 0
        (inside / "filling").unlink()
        assert client.delete(f"/v1/captures/{capture_id}").status_code == 404
        assert wait_ready(client, upload(client, SMALL))["state"] == "ready"
        assert (inside / "reserve").exists(), "it is kept again"
    running.stop()


def test_an_answer_about_many_captures_goes_with_any_of_them(tmp_path: Path) -> None:
    answers = AnswerCache(tmp_path, 1 << 20)
    many, few = [f"{number:064x}" for number in range(900)], ["f" * 64, "e" * 64]
    for ids in (many, few):
        answers.keep(answers.etag(ids, ["history"]), ids, b"all of it")

    def kept(ids: list[str]) -> bytes | None:
        found = answers.find(answers.etag(ids, ["history"]), ids)
        if found is None:
            return None
        with found:
            return found.read()

    assert (kept(many), kept(few), kept(many[1:])) == (b"all of it", b"all of it", None)
    answers.forget(many[700])
    assert (kept(many), kept(few)) == (None, b"all of it")
