"""What a team keeps under names on a server: who sees it, who may change it, how much there may be."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import httpx
import pytest

from perfcase_api.saved import COUNT_MAX
from tests.api.conftest import Running
from tests.api.test_access import token

COUNTS_CAPTURES = True
TOLD = {
    "queries": {"sql": "SELECT comm FROM thread_time WHERE comm = $comm", "set": ["comm=<script>"], "chart": "bars,comm,on_cpu_ns"},
    "boards": {"figures": ["view=cpu_utilization&measure=busy_ratio", "view=capture&measure=duration_ns&ticket=%3Cb%3E"]},
}  # fmt: skip
KINDS = [("queries", "query_id"), ("boards", "board_id")]


@pytest.mark.parametrize(("kind", "key"), KINDS)
def test_saved_listed_replaced_deleted(server: Running, admin: httpx.Client, kind: str, key: str) -> None:
    made = admin.post(f"/v1/{kind}", json={"name": "  busiest\n threads ", **TOLD[kind]})
    assert made.status_code == 201, made.text
    saved = made.json()
    assert {name: saved[name] for name in ("name", "author", *TOLD[kind])} == {
        "name": "busiest threads", "author": "first admin", **TOLD[kind],
    }  # fmt: skip
    assert admin.get(f"/v1/{kind}").json() == [saved]
    taken = admin.post(f"/v1/{kind}", json={"name": "busiest threads", **TOLD[kind]})
    assert (taken.status_code, taken.json()["error"]["kind"]) == (409, "conflict")
    place = f"/v1/{kind}/{saved[key]}"
    with server.client(token(admin, "uploader")["secret"]) as other:
        changed = other.put(place, json={"name": "other", **TOLD[kind]}).json()
        assert (changed["name"], changed["author"], changed[key]) == ("other", "a uploader", saved[key])
        again = admin.post(f"/v1/{kind}", json={"name": "third", **TOLD[kind]}).json()
        assert other.put(place, json={"name": "third", **TOLD[kind]}).status_code == 409
        assert other.delete(f"/v1/{kind}/{again[key]}").status_code == 403
        assert other.delete(place).status_code == 204
        assert other.delete(place).status_code == 404
    entry = admin.get("/v1/audit").json()[1]
    assert (entry["who"], entry["action"], entry["status"]) == ("a uploader", f"DELETE /v1/{kind}/{{{key}}}", 204)
    assert admin.delete(f"/v1/{kind}/{again[key]}").status_code == 204
    assert admin.get(f"/v1/{kind}").json() == []


@pytest.mark.parametrize(("kind", "key"), KINDS)
def test_a_team_sees_its_own(server: Running, admin: httpx.Client, kind: str, key: str) -> None:
    """One name for each team; who sees all tickets sees all."""
    clients = {prefix: server.client(token(admin, "uploader", prefix)["secret"]) for prefix in ("OPS-", "DEV-", "")}
    made = {
        prefix: client.post(f"/v1/{kind}", json={"name": "same", **TOLD[kind]}).json()[key]
        for prefix, client in clients.items()
    }
    assert [one[key] for one in clients["OPS-"].get(f"/v1/{kind}").json()] == [made["OPS-"]]
    assert {one[key] for one in clients[""].get(f"/v1/{kind}").json()} == set(made.values())
    for prefix in ("DEV-", ""):
        place = f"/v1/{kind}/{made[prefix]}"
        assert clients["OPS-"].put(place, json={"name": "x", **TOLD[kind]}).status_code == 404
        assert clients["OPS-"].delete(place).status_code == 404
    other = "boards" if kind == "queries" else "queries"
    assert admin.delete(f"/v1/{other}/{made['']}").status_code == 404, "of another kind"
    for prefix, client in clients.items():
        assert client.delete(f"/v1/{kind}/{made[prefix]}").status_code == 204
        client.close()


def test_bounds(admin: httpx.Client) -> None:
    query, board = {"name": "x", **TOLD["queries"]}, {"name": "x", **TOLD["boards"]}
    for kind, body in (
        ("queries", {**query, "name": "x" * 101}),
        ("queries", {**query, "name": "\t\n\u200b"}),
        ("queries", {**query, "sql": "x" * 20_001}),
        ("queries", {**query, "set": ["x=1"] * 51}),
        ("queries", {**query, "chart": "x" * 1001}),
        ("boards", {**board, "figures": ["x"] * 31}),
        ("boards", {**board, "figures": ["x" * 2001]}),
        ("boards", {**board, "figures": "x"}),
    ):
        assert admin.post(f"/v1/{kind}", json=body).status_code == 400, (kind, body)


def test_there_is_an_end_of_it(server: Running, admin: httpx.Client) -> None:
    with server.client(token(admin, "uploader", "FULL-")["secret"]) as client:
        assert client.post("/v1/boards", json={"name": "b0", "figures": []}).status_code == 201
        # Each request waits for the disk: all but the first and the last are written at once.
        columns = "ticket_prefix, told, author, token_id, written_ns"
        with closing(sqlite3.connect(server.store / "catalogue.sqlite3")) as db, db:
            db.executemany(
                f"INSERT INTO saved (kind, name, {columns}) SELECT kind, ?, {columns} FROM saved WHERE name = 'b0'",
                [(f"b{number}",) for number in range(1, COUNT_MAX - 1)],
            )
        last = [client.post("/v1/boards", json={"name": f"b{COUNT_MAX + more}", "figures": []}) for more in range(2)]
        assert [answer.status_code for answer in last] == [201, 413]
        # It is the end of one team's only.
        assert admin.post("/v1/boards", json={"name": "b0", "figures": []}).status_code == 201
