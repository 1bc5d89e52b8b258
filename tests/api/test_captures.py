"""Captures over HTTP: they arrive whole or not at all, are found again, and go when they are deleted."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import httpx
import pytest

from perfcase_api.answers import AnswerCache, keep_answer
from perfcase_api.catalogue import Catalogue
from tests.api.conftest import SAMPLES, Running, start, upload, wait_ready

COUNTS_CAPTURES = True

TCP = SAMPLES / "d-nagle" / "tcp.perfcase"
PIPE = SAMPLES / "d-nagle" / "pipe.perfcase"


def test_what_the_catalogue_knows(admin: httpx.Client, tcp: str) -> None:
    capture = admin.get(f"/v1/captures/{tcp}").json()
    assert capture["state"] == "ready"
    assert (capture["name"], capture["ticket"], capture["size_bytes"]) == ("tcp.perfcase", "OPS-1", TCP.stat().st_size)
    assert capture["findings"]["critical"] == 1
    assert capture["remark"] == "60 requests of two writes each through tcp"


def test_the_original_comes_back(admin: httpx.Client, tcp: str) -> None:
    assert re.search(r"^ *capture +tcp\.perfcase$", admin.get(f"/v1/captures/{tcp}/report").text, re.MULTILINE)
    original = admin.get(f"/v1/captures/{tcp}/original")
    assert original.content == TCP.read_bytes()
    assert original.headers["content-disposition"] == 'attachment; filename="tcp.perfcase"'
    part = admin.get(f"/v1/captures/{tcp}/original", headers={"Range": "bytes=512-1023"})
    assert (part.status_code, part.content) == (206, TCP.read_bytes()[512:1024])


def test_uploaded_twice_it_is_one(server: Running, admin: httpx.Client, tcp: str) -> None:
    made = (server.store / "captures" / tcp / "case" / "import.json").stat()
    before = admin.get("/v1/captures").json()["total"]
    assert upload(admin, TCP) == tcp
    assert admin.get("/v1/captures").json()["total"] == before
    # What comes after it in the queue is done: the import is not made again under those who read it.
    other = admin.post("/v1/captures", params={"name": "x"}, content=b"no capture").json()["capture_id"]
    assert wait_ready(admin, other)["state"] == "failed"
    assert admin.delete(f"/v1/captures/{other}").status_code == 204
    assert (server.store / "captures" / tcp / "case" / "import.json").stat() == made


@pytest.mark.parametrize(
    ("query", "is_found"),
    [
        ({"ticket": "OPS-"}, True), ({"ticket": "ops"}, False), ({"ticket": "OPS-11"}, False), ({"host": "v*"}, True),
        ({"host": "w*"}, False), ({"finding": "delayed_ack"}, True), ({"finding": "lock_convoy"}, False),
        ({"text": "TWO WRITES"}, True), ({"text": "%"}, False), ({"after_ns": 1}, True), ({"before_ns": 1}, False),
        ({"label": "slow"}, False), ({"ticket": "' OR 1=1 --"}, False),
    ],
)  # fmt: skip
def test_search(admin: httpx.Client, tcp: str, query: dict, is_found: bool) -> None:
    found = admin.get("/v1/captures", params=query).json()
    # Other tests may have uploaded others, which have no ticket.
    listed = [capture["capture_id"] for capture in found["captures"]]
    assert (listed.count(tcp), found["total"]) == (int(is_found), len(listed))


def test_sorted_by_the_server(admin: httpx.Client, tcp: str) -> None:
    pipe = upload(admin, PIPE)
    for name, ids in {"size": [pipe, tcp], "-size": [tcp, pipe], "-findings": [tcp, pipe], "started": [pipe, tcp],
                      "-name": [tcp, pipe], "-ticket": [tcp, pipe]}.items():  # fmt: skip
        found = admin.get("/v1/captures", params={"sort": name}).json()["captures"]
        assert [capture["capture_id"] for capture in found] == ids, name
    assert admin.get("/v1/captures", params={"sort": "size; DROP TABLE capture"}).status_code == 400
    assert admin.delete(f"/v1/captures/{pipe}").status_code == 204


def test_labels_and_notes(admin: httpx.Client, tcp: str) -> None:
    changed = admin.patch(f"/v1/captures/{tcp}", json={"labels": ["slow", "before <b>"]}).json()
    assert changed["labels"] == ["before <b>", "slow"]
    assert admin.get("/v1/captures", params={"label": "slow"}).json()["total"] == 1
    note = admin.post(f"/v1/captures/{tcp}/notes", json={"text": "the client's library"}).json()
    assert note["author"] == "first admin"
    assert admin.get(f"/v1/captures/{tcp}/notes").json() == [note]
    assert admin.get("/v1/captures", params={"text": "library"}).json()["total"] == 1
    admin.patch(f"/v1/captures/{tcp}", json={"labels": []})


def test_the_recorders_labels_are_there(admin: httpx.Client) -> None:
    capture_id = upload(admin, SAMPLES.parent / "tests" / "compat" / "v1.1" / "command.perfcase")
    assert admin.get(f"/v1/captures/{capture_id}").json()["labels"] == ["build=7", "canary"]
    assert admin.delete(f"/v1/captures/{capture_id}").status_code == 204


def test_in_parts_with_a_kill_between(tmp_path: Path) -> None:
    """After each of two parts the server is killed; the last one finds a whole capture."""
    data = TCP.read_bytes()
    running = start(tmp_path / "store")
    with running.client() as client:
        new = client.post("/v1/uploads", json={"name": "../../x/tcp.perfcase", "size_bytes": len(data)}).json()
    assert (new["name"], new["offset_bytes"]) == ("tcp.perfcase", 0)
    place, step = f"/v1/uploads/{new['upload_id']}", len(data) // 2 + 1
    for begin in range(0, len(data), step):
        with running.client() as client:
            assert client.get(place).json()["offset_bytes"] == begin
            wrong = client.patch(place, headers={"Upload-Offset": str(begin + 1)}, content=b"x")
            assert (wrong.status_code, wrong.json()["error"]["kind"]) == (409, "conflict")
            sent = client.patch(place, headers={"Upload-Offset": str(begin)}, content=data[begin : begin + step]).json()
        running.stop(signal.SIGKILL)
        running = start(tmp_path / "store", running.token)
    with running.client() as client:
        assert wait_ready(client, sent["capture_id"])["state"] == "ready"
        assert client.get(f"/v1/captures/{sent['capture_id']}/original").content == data
    assert list((tmp_path / "store" / "uploads").iterdir()) == []
    running.stop()


def test_damage_is_found_while_it_arrives(admin: httpx.Client) -> None:
    """The member is named before the rest is sent: the archive's last member is never asked for."""
    data = bytearray(TCP.read_bytes())
    data[100_000] ^= 1
    new = admin.post("/v1/uploads", json={"name": "x.perfcase", "size_bytes": len(data)}).json()
    place = f"/v1/uploads/{new['upload_id']}"
    refused = admin.patch(place, headers={"Upload-Offset": "0"}, content=bytes(data[: len(data) // 2]))
    assert refused.status_code == 422
    error = refused.json()["error"]
    assert "the manifest says" in error["message"]
    assert "accept_damaged" in error["hint"]
    assert admin.get(place).status_code == 404
    taken = admin.post("/v1/captures", params={"name": "x.perfcase", "accept_damaged": True}, content=bytes(data))
    capture = wait_ready(admin, taken.json()["capture_id"])
    assert "the manifest says" in capture["damage"]
    assert admin.delete(f"/v1/captures/{capture['capture_id']}").status_code == 204


def test_a_cut_archive(admin: httpx.Client) -> None:
    data = TCP.read_bytes()[:1_000_000]
    refused = admin.post("/v1/captures", params={"name": "x.perfcase"}, content=data)
    assert refused.status_code == 422
    assert "(at byte 1000000)" in refused.json()["error"]["message"]


def test_what_is_no_capture_is_kept_with_the_reason(admin: httpx.Client, server: Running) -> None:
    taken = admin.post("/v1/captures", params={"name": "notes.txt"}, content=b"this is no capture\n")
    capture = wait_ready(admin, taken.json()["capture_id"])
    assert (capture["state"], bool(capture["reason"])) == ("failed", True)
    place = f"/v1/captures/{capture['capture_id']}"
    assert admin.get(f"{place}/original").content == b"this is no capture\n"
    asked = admin.get(f"{place}/views/thread")
    assert (asked.status_code, asked.json()["error"]["kind"]) == (422, "input")
    assert admin.post(f"{place}/import").status_code == 202
    assert wait_ready(admin, capture["capture_id"])["state"] == "failed"
    assert admin.delete(place).status_code == 204
    assert not (server.store / "captures" / capture["capture_id"]).exists()
    assert admin.get(place).status_code == 404


def test_an_answer_that_comes_after_its_capture_was_deleted_is_not_kept(tmp_path: Path) -> None:
    answers, catalogue = AnswerCache(tmp_path / "answers", 1 << 20), Catalogue(tmp_path / "catalogue.sqlite3")
    there, gone = "a" * 64, "b" * 64
    catalogue.write(
        "INSERT INTO capture (capture_id, name, size_bytes, state, uploaded_ns) VALUES (?, 'x', 1, 'ready', 0)",
        (there,),
    )
    for ids in ([there], [gone], [there, gone], [there] * 5 + [gone]):
        keep_answer(answers, catalogue, "etag", ids, b"answer")
    assert [path.name for path in (tmp_path / "answers").iterdir()] == [f"etag-{there[:32]}"]
    catalogue.close()


def test_nothing_is_left_of_a_deleted_capture(admin: httpx.Client, server: Running) -> None:
    """Neither its files nor what was kept of its answers."""
    before = set(server.store.rglob("*")) - set(server.store.glob("catalogue*"))
    capture_id = upload(admin, SAMPLES / "e-page-cache" / "fits.perfcase")
    of_import = len(list((server.store / "answers").glob(f"*{capture_id[:32]}*")))
    assert of_import > 0
    assert admin.get(f"/v1/captures/{capture_id}/views/thread").status_code == 200
    assert admin.get(f"/v1/captures/{capture_id}/views/process").status_code == 200
    assert len(list((server.store / "answers").glob(f"*{capture_id[:32]}*"))) == of_import + 2
    assert admin.delete(f"/v1/captures/{capture_id}").status_code == 204
    assert set(server.store.rglob("*")) - set(server.store.glob("catalogue*")) <= before


def test_imports_of_another_version_are_made_again(tmp_path: Path) -> None:
    """As after an update: no analysis may put the views of an import in order, so it would be of no use."""
    running = start(tmp_path / "store")
    with running.client() as client:
        capture_id = upload(client, PIPE)
    running.stop()
    case = tmp_path / "store" / "captures" / capture_id / "case"
    info = json.loads((case / "import.json").read_text())
    (case / "import.json").write_text(json.dumps({**info, "views": "of another version"}))
    running = start(tmp_path / "store", running.token)
    with running.client() as client:
        assert wait_ready(client, capture_id)["state"] == "ready"
        assert client.get(f"/v1/captures/{capture_id}/views/thread").status_code == 200
    assert json.loads((case / "import.json").read_text())["views"] == info["views"]
    running.stop()


def test_too_large(admin: httpx.Client) -> None:
    refused = admin.post("/v1/uploads", json={"name": "x", "size_bytes": 1 << 40})
    assert (refused.status_code, refused.json()["error"]["kind"]) == (413, "too_large")
    new = admin.post("/v1/uploads", json={"name": "x", "size_bytes": 10}).json()
    more = admin.patch(f"/v1/uploads/{new['upload_id']}", headers={"Upload-Offset": "0"}, content=b"x" * 11)
    assert more.status_code == 413
