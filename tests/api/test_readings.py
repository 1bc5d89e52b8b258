"""The figures of a history are worked out once for each capture, and are those that the command line says."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.api.conftest import SAMPLES, Running, start, upload
from tests.support.cli import succeed

QUESTION = {"view": "wakeup_chain", "measure": "wait_ns", "agg": "sum"}
"""No import works this view out."""
OF_IMPORT = {"view": "thread_time", "measure": "switch_count"}
COMPARED = {"view": "migrations", "measure": "run_count"}
"""No finding and no section of the report reads it."""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, list[str]]]:
    """A server with two captures."""
    running = start(tmp_path_factory.mktemp("readings") / "store")
    with running.client() as client:
        ids = [upload(client, SAMPLES / "d-nagle" / f"{name}.perfcase") for name in ("pipe", "tcp")]
    yield running, ids
    running.stop()


def kept(server: Running) -> list[tuple[str, list]]:
    with closing(sqlite3.connect(server.store / "catalogue.sqlite3")) as db:
        rows = db.execute("SELECT capture_id, told FROM reading ORDER BY reading_id").fetchall()
    return [(capture_id, json.loads(told)) for capture_id, told in rows]


def tell(server: Running, told: object) -> None:
    with closing(sqlite3.connect(server.store / "catalogue.sqlite3")) as db, db:
        db.execute("UPDATE reading SET told = ?", (json.dumps(told),))


def history(client: httpx.Client, **question: str) -> list[tuple]:
    answer = client.get("/v1/history", params=question)
    assert answer.status_code == 200, answer.text
    return [(row["row_count"], row["value"], row.get("value_per_s"), row["problem"]) for row in answer.json()]


def printed(server: Running, ids: list[str], *options: str, question: dict[str, str] = QUESTION) -> list[tuple]:
    cases = [server.store / "captures" / capture_id / "case" for capture_id in ids]
    named = [f"--{name}={value}" for name, value in question.items()]
    rows = json.loads(succeed("history", *cases, *named, *options, "--format=json"))
    return [(row["row_count"], row["value"], row["value_per_s"], row["problem"]) for row in rows]


def test_a_figure_is_kept(asked: tuple[Running, list[str]]) -> None:
    server, ids = asked
    expected = printed(server, ids)
    with server.client() as client:
        assert history(client, **QUESTION) == expected
        assert sorted(kept(server)) == sorted(zip(ids, map(list, expected), strict=True))
        # Another order is another answer, from the same figures.
        assert sorted(history(client, **QUESTION, by="ticket")) == sorted(expected)
        assert len(kept(server)) == 2
        # They are what later answers are made from.
        tell(server, [3, 42.0, 7.0, None])
        assert history(client, **QUESTION, by="label") == [(3, 42.0, 7.0, None)] * 2
        assert history(client, **QUESTION, only="host=*") == [(3, 42.0, 7.0, None)] * 2
        for lie in ([3, "x", 7.0, None], {"a": 1}, 7, None):
            tell(server, lie)
            assert history(client, **QUESTION, by="host", limit=str(1000 + len(str(lie)))) == expected, lie


def test_the_import_has_worked_out_most_of_them(asked: tuple[Running, list[str]]) -> None:
    server, ids = asked
    expected = printed(server, ids, question=OF_IMPORT)
    before = kept(server)
    with server.client() as client:
        assert history(client, **OF_IMPORT) == expected
        assert history(client, **COMPARED) == printed(server, ids, question=COMPARED)
        nothing = history(client, view="pmcarch", measure="ipc")
    assert [problem.split(":")[0] for *_, problem in nothing] == ["pmcarch has no rows"] * 2
    assert kept(server) == before
    lies = ('"7"', "[]", '{"switch_count sum": 7}', '{"switch_count sum": ["x", 1.0, 1.0, null]}', "null")
    for number, lie in enumerate(lies, 1):
        with closing(sqlite3.connect(server.store / "catalogue.sqlite3")) as db, db:
            db.execute("UPDATE figure SET told = ? WHERE view = 'thread_time'", (lie,))
        with server.client() as client:
            told = history(client, **OF_IMPORT, by="host", limit=str(1000 + number))
        assert told == ([(0, None, None, "7")] * 2 if lie == '"7"' else expected), lie
    with closing(sqlite3.connect(server.store / "catalogue.sqlite3")) as db, db:
        db.execute("UPDATE figure SET told = '\"7\"', build = 'of another perfcase'")
    with server.client() as client:
        assert history(client, **OF_IMPORT, by="ticket") == expected


def test_a_condition_of_the_users_is_asked_each_time(asked: tuple[Running, list[str]]) -> None:
    server, ids = asked
    before = kept(server)
    with server.client() as client:
        told = history(client, **QUESTION, where="wait_ns > 1000")
    assert told == printed(server, ids, "--where=wait_ns > 1000")
    assert kept(server) == before


def test_a_wrong_question_says_what_is_wrong(asked: tuple[Running, list[str]]) -> None:
    server, _ = asked
    before = kept(server)
    with server.client() as client:
        answer = client.get("/v1/history", params={"view": "thread_time", "measure": "nothing"})
    assert answer.status_code == 404
    assert "thread_time has no column nothing" in answer.json()["error"]["message"]
    assert kept(server) == before


def test_what_is_kept_of_a_capture_goes_with_it(tmp_path: Path) -> None:
    running = start(tmp_path / "store")
    with running.client() as client:
        ids = [upload(client, SAMPLES / "d-nagle" / f"{name}.perfcase") for name in ("pipe", "tcp")]
        history(client, **QUESTION)
        assert client.delete(f"/v1/captures/{ids[0]}").status_code == 204
        assert [capture_id for capture_id, _ in kept(running)] == ids[1:]
        assert len(history(client, **QUESTION)) == 1
    running.stop()
