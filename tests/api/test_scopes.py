"""A user who sees a part of the tickets changes nothing outside of it, and learns nothing of it."""

from __future__ import annotations

import io
import json
import sqlite3
import tarfile
from pathlib import Path

import httpx
import pytest

from tests.api.conftest import SAMPLES, Running, start, upload, wait_ready
from tests.api.test_access import token

COUNTS_CAPTURES = True

TCP = SAMPLES / "d-nagle" / "tcp.perfcase"


def archive(ticket: str | None) -> bytes:
    manifest = {"format": "perfcase", "format_version": "1.1", "members": []} | ({"ticket": ticket} if ticket else {})
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        data = json.dumps(manifest).encode()
        entry = tarfile.TarInfo("manifest.json")
        entry.size = len(data)
        tar.addfile(entry, io.BytesIO(data))
    return made.getvalue()


@pytest.mark.parametrize(
    ("manifest", "given", "status"),
    [("AAA-1", "", 201), ("BBB-1", "", 403), (None, "", 403), ("BBB-1", "AAA-2", 201), ("AAA-1", "BBB-1", 403)],
)
def test_a_manifest_does_not_lead_out_of_the_scope(
    server: Running, admin: httpx.Client, manifest: str | None, given: str, status: int
) -> None:
    with server.client(token(admin, "uploader", "AAA-")["secret"]) as client:
        answer = client.post("/v1/captures", params={"name": "x", "ticket": given}, content=archive(manifest))
        assert answer.status_code == status, answer.text
        if status == 201:
            wait_ready(client, answer.json()["capture_id"])
            assert client.delete(f"/v1/captures/{answer.json()['capture_id']}").status_code == 204
    assert admin.get("/v1/captures", params={"ticket": "BBB-"}).json()["total"] == 0


def test_a_second_upload_of_the_same_file_tells_nothing(server: Running, admin: httpx.Client, tcp: str) -> None:
    """It is another capture, imported for itself; the first one stays as it was, and ready."""
    with server.client(token(admin, "uploader", "AAA-")["secret"]) as client:
        answer = client.post("/v1/captures", params={"name": "x", "ticket": "AAA-1"}, content=TCP.read_bytes())
        assert answer.status_code == 201
        mine = answer.json()["capture_id"]
        assert (answer.json()["state"], mine != tcp) == ("uploaded", True)
        assert admin.get(f"/v1/captures/{tcp}").json()["state"] == "ready"
        assert admin.get(f"/v1/captures/{tcp}/views/thread", params={"limit": 1}).status_code == 200
        assert wait_ready(client, mine)["state"] == "ready"
        rows = client.post(
            "/v1/sql", json={"sql": "SELECT capture_id AS inner_id FROM capture", "ticket": "AAA-1"}
        ).json()
        assert rows == [{"capture_id": mine, "inner_id": mine}], "its tables know it by the same name"
        with server.client(token(admin, "uploader", "AAA-")["secret"]) as same:
            assert upload(same, TCP, ticket="AAA-1") == mine, "uploaded twice in a scope it is one"
        assert admin.patch(f"/v1/captures/{mine}", json={"ticket": "CCC-1"}).status_code == 200
        moved = client.post("/v1/captures", params={"name": "x", "ticket": "AAA-1"}, content=TCP.read_bytes())
        assert moved.status_code == 409
        assert admin.delete(f"/v1/captures/{mine}").status_code == 204
    assert admin.get(f"/v1/captures/{tcp}").json()["state"] == "ready"


def test_an_admin_with_a_scope(server: Running, admin: httpx.Client) -> None:
    within, beyond = token(admin, "viewer", "AAA-1"), token(admin, "viewer", "BBB-")
    with server.client(token(admin, "admin", "AAA-")["secret"]) as scoped:
        listed = {each["token_id"] for each in scoped.get("/v1/tokens").json()}
        assert within["token_id"] in listed
        assert beyond["token_id"] not in listed
        assert scoped.delete(f"/v1/tokens/{beyond['token_id']}").status_code == 404
        assert scoped.delete(f"/v1/tokens/{within['token_id']}").status_code == 204
        assert scoped.get("/v1/audit").status_code == 403
        with server.client(token(admin, "uploader", "BBB-")["secret"]) as other:
            new = other.post("/v1/uploads", json={"name": "x", "size_bytes": 1, "ticket": "BBB-1"}).json()
            assert scoped.get(f"/v1/uploads/{new['upload_id']}").status_code == 404
            assert scoped.delete(f"/v1/uploads/{new['upload_id']}").status_code == 404
            assert admin.delete(f"/v1/uploads/{new['upload_id']}").status_code == 204
    with server.client(beyond["secret"]) as client:
        assert client.get("/v1/me").status_code == 200


def test_the_last_admin_stays(tmp_path: Path) -> None:
    running = start(tmp_path / "store")
    with running.client() as first:
        token(first, "admin", "AAA-")
        refused = first.delete("/v1/tokens/1")
        assert (refused.status_code, refused.json()["error"]["kind"]) == (409, "conflict")
        second = token(first, "admin")
        assert first.delete("/v1/tokens/1").status_code == 204
    with running.client(second["secret"]) as client:
        assert client.delete(f"/v1/tokens/{second['token_id']}").status_code == 409
    running.stop()
    with sqlite3.connect(tmp_path / "store" / "catalogue.sqlite3") as db:
        db.execute("UPDATE token SET expires_ns = 1")
    running = start(tmp_path / "store", "none")
    with running.client() as client:
        assert client.get("/v1/me").json()["role"] == "admin", "a start without any admin makes one"
    running.stop()


@pytest.fixture(scope="module")
def open_server(tmp_path_factory: pytest.TempPathFactory):
    running = start(tmp_path_factory.mktemp("open") / "store", "", "--open")
    yield running
    running.stop()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200), ({"Host": "localhost"}, 200), ({"Host": "[::1]:9000"}, 200), ({"Host": "127.0.0.1:1"}, 200),
        ({"Host": "evil.example:{port}"}, 403), ({"Host": "127.0.0.1.evil.example"}, 403), ({"Host": ""}, 403),
        ({"Host": "[::1"}, 403), ({"Host": "localhost.evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:{port}"}, 200), ({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200), ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200),
    ],
)  # fmt: skip
def test_an_open_server_is_for_this_machine(open_server: Running, headers: dict[str, str], status: int) -> None:
    """Neither for a page whose name was made to point here, nor for what a page elsewhere sends."""
    given = {name: value.format(port=open_server.port) for name, value in headers.items()}
    with open_server.client("") as client:
        assert client.get("/v1/captures", headers=given).status_code == status
        if "navigate" in given.values():
            assert client.post("/v1/captures?name=x", headers=given, content=b"x").status_code == 403
