"""Imports as one follows them: the place in the queue, the steps, and what is left of one that was cancelled."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from pathlib import Path

import httpx
import pytest

from perfcase.case import store
from perfcase_api.imports import Imports, _progress_of
from tests.api.conftest import SAMPLES, Running, start, wait_ready
from tests.api.stores import store_with

COUNTS_CAPTURES = True

PIPE = SAMPLES / "d-nagle" / "pipe.perfcase"
LARGE = SAMPLES / "x86_64-scheduling" / "x.perfcase"


def left(folder_of: Path) -> list[str]:
    """What is in the folders of captures and uploads."""
    return sorted(path.name for folder in ("captures", "uploads") for path in (folder_of / folder).iterdir())


def test_places_in_the_queue(tmp_path: Path) -> None:
    """The one at work is the first; who is cancelled leaves its place to the next."""
    script = f"touch {tmp_path}/began; exec sleep 60\n"
    settings, catalogue, uploads, nursery = store_with("abcd", tmp_path, script)
    catalogue.write("UPDATE capture SET is_new = 1")

    async def run() -> None:
        imports = Imports(settings, catalogue, uploads, nursery)
        imports.start()
        imports.add("d")
        while not (tmp_path / "began").exists():
            await asyncio.sleep(0.02)
        assert [imports.state(each) for each in "abcd"] == [
            {"state": "importing"}, *({"state": "uploaded", "place": number, "of": 4} for number in (2, 3, 4)),
        ]  # fmt: skip
        told = imports.follow_all(lambda ticket: True)
        assert [each["capture_id"] for each in await anext(told)] == ["a", "b", "c", "d"]
        assert uploads.forget_new("b")
        await imports.stop("b")
        uploads.remove("b")
        assert [imports.state(each) for each in "bcd"] == [
            {"state": "gone"}, *({"state": "uploaded", "place": number, "of": 3} for number in (2, 3)),
        ]  # fmt: skip
        now = await anext(told)
        assert [each["capture_id"] for each in now] == ["a", "c", "d", "b"]
        assert now[-1] == {"capture_id": "b", "state": "gone"}
        assert await anext(imports.follow_all(lambda ticket: ticket == "OTHER")) == []
        await imports.close()

    asyncio.run(run())
    assert left(settings.store) == ["a", "c", "d"]


def test_an_import_at_work_is_cancelled(tmp_path: Path) -> None:
    """With all that it has written; a new server knows nothing of it."""
    script = f'touch "$folder/half" {tmp_path}/began; exec sleep 60\n'
    settings, catalogue, uploads, nursery = store_with("a", tmp_path, script)
    catalogue.write("UPDATE capture SET is_new = 1")

    async def run() -> None:
        imports = Imports(settings, catalogue, uploads, nursery)
        imports.start()
        while not (tmp_path / "began").exists():
            await asyncio.sleep(0.02)
        assert (uploads.captures / "a" / "importing" / "half").exists()
        assert uploads.forget_new("a")
        await imports.stop("a")
        uploads.remove("a")
        await imports.close()

    asyncio.run(run())
    assert left(settings.store) == []
    assert uploads.recover() == []
    assert catalogue.rows("SELECT * FROM deleted") == catalogue.rows("SELECT * FROM capture") == []


def test_what_was_imported_before_is_not_cancelled(tmp_path: Path) -> None:
    """A new version imports every capture again: to cancel that would delete what somebody has worked with."""
    _, catalogue, uploads, _ = store_with("a", tmp_path, "")
    assert not uploads.forget_new("a")
    assert catalogue.row("SELECT state FROM capture")["state"] == "uploaded"
    assert catalogue.rows("SELECT * FROM deleted") == []


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ({"phase": "events", "done": 5, "total": 9, "unit": "ns"}, {"step": 2, "steps": 6, "done": 5, "total": 9, "unit": "ns"}),
        ({"phase": "events", "done": 9, "total": 5, "unit": "ns"}, {"step": 2, "steps": 6}),
        ({"phase": "events", "done": 0, "total": 0, "unit": "ns"}, {"step": 2, "steps": 6}),
        ({"phase": "events", "done": -1, "total": 5, "unit": "ns"}, {"step": 2, "steps": 6}),
        ({"phase": "events", "done": 1, "total": 1 << 60, "unit": "ns"}, {"step": 2, "steps": 6}),
        ({"phase": "events", "done": 1, "total": 2, "unit": "<b>"}, {"step": 2, "steps": 6}),
        ({"phase": "events", "done": "1", "total": [2], "unit": "ns"}, {"step": 2, "steps": 6}),
        ({"phase": "<script>"}, {}),
    ],
)  # fmt: skip
def test_what_a_process_says_is_bounded(said: dict, kept: dict) -> None:
    """A hostile capture may have taken it over."""
    assert _progress_of({**said, "records": 7}) == {"phase": said["phase"], "records": 7, **kept}
    assert len(_progress_of({"phase": "x" * 5000, "records": 7})["phase"]) == 100


def test_the_steps_of_an_import_come_in_order(tmp_path: Path) -> None:
    """Each with a done that grows; those that are not known say nothing."""
    running = start(tmp_path / "store", imports=True)
    with running.client() as client:
        made = client.post("/v1/captures", params={"name": "x.perfcase"}, content=PIPE.read_bytes()).json()
        with client.stream("GET", f"/v1/captures/{made['capture_id']}/progress") as events:
            assert events.headers["content-type"].startswith("text/event-stream")
            lines = [line for line in events.iter_lines() if line]
        assert set(lines[::2]) == {"event: import"}
        told = [json.loads(line.removeprefix("data: ")) for line in lines[1::2]]
        assert told[-1] == {"state": "ready"}
        assert {"findings", "figures", "first page"} <= {each.get("phase") for each in told}
        steps = [each["step"] for each in told if "step" in each]
        assert steps == sorted(steps)
        assert {each.get("steps") for each in told if "step" in each} == {6}
        assert all(0 <= each["done"] <= each["total"] for each in told if "total" in each)
    running.stop()


def test_how_much_of_the_recording_is_read(tmp_path: Path) -> None:
    """The importer knows it from the manifest; records come in the order of time."""
    file = tmp_path / "x.perfcase"
    file.write_bytes(LARGE.read_bytes())
    told: list[tuple] = []
    store.open_case(file, progress=lambda *now: told.append(now))
    read = [now[2] for now in told if now[0] == "events"]
    assert read == sorted(read)
    assert {total for _, total in read} == {17_302_548_315}, "from the first source's beginning to the last one's end"
    assert 0 < read[0][0] < read[-1][0] == read[-1][1]
    assert [now[2] for now in told if now[0] != "events"] == [None] * sum(now[0] != "events" for now in told)


def test_labels_and_ticket_of_an_upload(server: Running) -> None:
    with server.client() as client:
        new = {
            "name": "p.perfcase",
            "size_bytes": PIPE.stat().st_size,
            "ticket": "OPS-7",
            "labels": ["build=41", "a b", "build=41"],
        }
        place = f"/v1/uploads/{client.post('/v1/uploads', json=new).json()['upload_id']}"
        made = client.patch(place, headers={"Upload-Offset": "0"}, content=PIPE.read_bytes()).json()
        assert made["is_new"] is True
        capture = wait_ready(client, made["capture_id"])
        assert (capture["ticket"], set(capture["labels"])) == ("OPS-7", {"build=41", "a b"})
        # The same file again: what belongs to it stays, and the answer says so.
        place = f"/v1/uploads/{client.post('/v1/uploads', json={**new, 'labels': ['other'], 'ticket': ''}).json()['upload_id']}"
        again = client.patch(place, headers={"Upload-Offset": "0"}, content=PIPE.read_bytes()).json()
        assert (again["capture_id"], again["is_new"]) == (made["capture_id"], False)
        assert set(wait_ready(client, made["capture_id"])["labels"]) == {"build=41", "a b"}
        # Nothing of this upload is left: the capture is another's.
        assert client.delete(place).status_code == 204
        assert client.get(f"/v1/captures/{made['capture_id']}").status_code == 200
        client.delete(f"/v1/captures/{made['capture_id']}")
        query = [("name", "p.perfcase"), ("label", "one"), ("label", "two")]
        whole = client.post("/v1/captures", params=query, content=PIPE.read_bytes()).json()
        assert set(whole["labels"]) == {"one", "two"}
        client.delete(f"/v1/captures/{whole['capture_id']}")
        for labels in ([""], ["x" * 101], [str(number) for number in range(101)]):
            assert client.post("/v1/uploads", json={**new, "labels": labels}).status_code == 400


def test_cancelled_while_it_is_sent(tmp_path: Path) -> None:
    """A request is sending it: that ends with an error, and no capture comes of it."""
    running = start(tmp_path / "store")
    data = PIPE.read_bytes()
    with running.client() as client, running.client() as other:
        place = (
            f"/v1/uploads/{client.post('/v1/uploads', json={'name': 'x', 'size_bytes': len(data)}).json()['upload_id']}"
        )
        may_go_on = threading.Event()
        answers: list[httpx.Response] = []

        def parts():
            yield data[:1000]
            may_go_on.wait(20)
            yield data[1000:]

        sender = threading.Thread(
            target=lambda: answers.append(client.patch(place, headers={"Upload-Offset": "0"}, content=parts()))
        )
        sender.start()
        while not any(part.stat().st_size for part in (tmp_path / "store" / "uploads").iterdir()):
            time.sleep(0.01)
        cancelled: list[httpx.Response] = []
        canceller = threading.Thread(target=lambda: cancelled.append(other.delete(place)))
        canceller.start()
        time.sleep(0.2)
        may_go_on.set()
        canceller.join(20)
        sender.join(20)
        assert cancelled[0].status_code == 204
        assert (answers[0].status_code, answers[0].json()["error"]["message"]) == (409, "the upload was cancelled")
        assert other.get(place).status_code == 404
        assert other.delete(place).status_code == 404
        assert other.get("/v1/captures").json()["total"] == 0
    running.stop()
    assert left(tmp_path / "store") == []


def test_cancelled_by_who_may(tmp_path: Path) -> None:
    """Roles are those of delete; the audit log says who; after a restart nothing of it is left."""
    running = start(tmp_path / "store", imports=True)
    with running.client() as admin:
        made = {
            name: admin.post("/v1/tokens", json={"name": name, "role": role, "ticket_prefix": prefix}).json()["secret"]
            for name, role, prefix in (("ann", "uploader", ""), ("bob", "uploader", ""), ("eve", "uploader", "X-"), ("vic", "viewer", ""))
        }  # fmt: skip
        with running.client(made["ann"]) as ann:
            captures = [
                ann.post("/v1/captures", params={"name": file.name}, content=file.read_bytes()).json()["capture_id"]
                for file in (LARGE, PIPE)
            ]
            place = f"/v1/captures/{captures[1]}/import"
            for name, status in (("bob", 403), ("vic", 403), ("eve", 404)):
                with running.client(made[name]) as other:
                    assert other.delete(place).status_code == status
            assert ann.delete(place).status_code == 204
            assert ann.get(f"/v1/captures/{captures[1]}").status_code == 404
            entry = admin.get("/v1/audit").json()[0]
            assert (entry["who"], entry["action"], entry["subject"], entry["status"]) == (
                "ann", "DELETE /v1/captures/{capture_id}/import", captures[1], 204,
            )  # fmt: skip
            assert wait_ready(ann, captures[0])["state"] == "ready"
            refused = ann.delete(f"/v1/captures/{captures[0]}/import")
            assert (refused.status_code, refused.json()["error"]["message"]) == (409, "the capture was imported before")
            # The file can come again, as new as it was.
            assert (
                ann.post("/v1/captures", params={"name": "x"}, content=PIPE.read_bytes()).json()["capture_id"]
                == captures[1]
            )
            assert ann.delete(place).status_code == 204
    running.stop()
    running = start(tmp_path / "store", running.token)
    with running.client() as admin:
        assert [each["capture_id"] for each in admin.get("/v1/captures").json()["captures"]] == [captures[0]]
    running.stop()
    assert left(tmp_path / "store") == [captures[0]]


def test_an_upload_that_became_a_capture_meanwhile_is_cancelled_with_it(tmp_path: Path) -> None:
    """The last part has come, and the word of that was lost."""
    running = start(tmp_path / "store", imports=True)
    with running.client() as client:
        new = client.post("/v1/uploads", json={"name": "x", "size_bytes": LARGE.stat().st_size}).json()
        place = f"/v1/uploads/{new['upload_id']}"
        made = client.patch(place, headers={"Upload-Offset": "0"}, content=LARGE.read_bytes()).json()
        stranger = client.post("/v1/tokens", json={"name": "x", "role": "uploader"}).json()["secret"]
        with running.client(stranger) as other:
            assert other.delete(place).status_code == 404
        assert client.delete(place).status_code == 204
        assert client.get(f"/v1/captures/{made['capture_id']}").status_code == 404
    running.stop()
    assert left(tmp_path / "store") == []
