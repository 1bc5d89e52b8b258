"""The figures of a history are worked out once for each capture, and are those that the command line says."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import httpx
import pytest

from perfcase.errors import PerfcaseError
from perfcase.operations import reading
from perfcase_api import readings
from perfcase_api.errors import ApiError
from perfcase_api.who import ANONYMOUS_ADMIN
from tests.api.conftest import SAMPLES, Running, start, upload
from tests.support.cli import succeed
from tests.support.imports import placed

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


ENDLESS = (
    "SELECT sum(levenshtein(repeat('a', 20000), repeat('b', 20000) || i::VARCHAR)) AS wait_ns FROM range(9999) AS r(i)"
)


def damage(case: Path) -> None:
    """Spoils a table so that only who reads it notices."""
    table = case / "tables" / "thread_state.parquet"
    whole = table.read_bytes()
    table.write_bytes(whole[:4] + bytes(len(whole) - 12) + whole[-8:])
    # The rows of views that the import kept are whole.
    shutil.rmtree(case / "kept")


def make_endless(case: Path) -> None:
    """Gives an import a database of its own, in which the figure never ends."""
    with duckdb.connect(case / "case.duckdb") as connection:
        connection.execute(f"CREATE OR REPLACE VIEW wakeup_chain AS {ENDLESS}")
    info = json.loads((case / "import.json").read_text())
    info["files"]["case.duckdb"] = (case / "case.duckdb").stat().st_size
    info["other_columns"]["wakeup_chain"] = [["wait_ns", "BIGINT"]]
    (case / "import.json").write_text(json.dumps(info))
    shutil.rmtree(case / "kept")


def test_broken_captures_cost_only_themselves(tmp_path: Path, samples: Sequence[Path]) -> None:
    """One process is asked for four captures. One of them cannot be read, and one ends this process."""
    running = start(tmp_path / "store", "", "--job-seconds", "5")
    try:
        with running.client() as client:
            ids = sorted(upload(client, sample) for sample in samples)
            others = [ids[0], ids[3]]
            expected = printed(running, others)
            damage(running.store / "captures" / ids[1] / "case")
            make_endless(running.store / "captures" / ids[2] / "case")
            told = client.get("/v1/history", params=QUESTION)
        assert told.status_code == 200, told.text
        rows = [(row["row_count"], row["value"], row["value_per_s"], row["problem"]) for row in told.json()]
        assert [row for row in rows if not row[-1]] == expected
        broken = [row for row in rows if row[-1]]
        assert {row[:3] for row in broken} == {(0, None, None)}
        problems = sorted(problem for *_, problem in broken)
        assert problems == ["TProtocolException: Invalid data", "stopped after 5 s of CPU time"]
        assert sorted(capture_id for capture_id, _ in kept(running)) == others
    finally:
        running.stop()


@pytest.fixture
def samples() -> list[Path]:
    """Four small captures."""
    found = sorted(SAMPLES.glob("*/*.perfcase"), key=lambda path: path.stat().st_size)
    return found[:4]


def test_only_captures_of_the_same_people_are_asked_together() -> None:
    rows = [
        {"capture_id": str(number), "ticket": ticket, "size_bytes": size}
        for number, (ticket, size) in enumerate(
            [("A-1", 1), ("B-1", 1), ("A-2", 1), ("", 1), ("A-1", 1 << 30), ("A-3", 5)]
        )
    ]

    def batches(*prefixes: str) -> list[list[str]]:
        return list(readings._batches(rows, prefixes))

    assert batches("") == batches() == [["0", "1", "2", "3"], ["4"], ["5"]]
    assert batches("", "A") == [["0", "2"], ["4"], ["5"], ["1", "3"]]
    assert batches("A", "A-1", "B") == [["0"], ["4"], ["1"], ["2", "5"], ["3"]]
    many = [{"capture_id": str(number), "ticket": "", "size_bytes": 0} for number in range(1200)]
    assert list(map(len, readings._batches(many, []))) == [500, 500, 200]


def asked_of(
    monkeypatch: pytest.MonkeyPatch, count: int, answers: Callable[..., Any]
) -> tuple[list[object], list[int]]:
    """The figures of captures whose processes answer like this, and of how many each was asked."""
    asked: list[int] = []

    async def figures(
        _here: object, _who: object, _key: str, batch: Sequence[str], _question: object, found: dict
    ) -> Sequence[str]:
        asked.append(len(batch))
        return answers(batch, found)

    async def figure(_here: object, _who: object, key: tuple[str, str], _question: object) -> object:
        asked.append(1)
        return answers([key[1]], {})

    monkeypatch.setattr(readings, "_figures", figures)
    monkeypatch.setattr(readings, "_figure", figure)
    here: Any = SimpleNamespace(
        answers=SimpleNamespace(etag=lambda *_: "key"),
        catalogue=SimpleNamespace(rows=lambda *_: []),
        settings=SimpleNamespace(limits=SimpleNamespace(jobs_per_user=1)),
    )
    captures: Any = [{"capture_id": str(number), "ticket": "", "size_bytes": 0} for number in range(count)]
    question = reading.Request(**QUESTION)
    return asyncio.run(readings.readings(here, ANONYMOUS_ADMIN, captures, question)), asked


def test_what_a_process_had_no_time_for_is_asked_for_next(monkeypatch: pytest.MonkeyPatch) -> None:
    def some(batch: Sequence[str], found: dict) -> Any:
        if len(batch) == 1:
            return int(batch[0])
        found |= {of: int(of) for of in batch[:3]}
        return batch[3:]

    assert asked_of(monkeypatch, 10, some) == (list(range(10)), [10, 7, 4, 1])


def test_what_ended_its_process_is_told_and_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(kind: str, *bad: str) -> Callable[..., Any]:
        def answers(batch: Sequence[str], _: dict) -> Any:
            if len(batch) > 1 or batch[0] in bad:
                raise ApiError(kind, "it ended")
            return int(batch[0])

        return answers

    whole = [0, 1, 2, [0, None, None, "it ended"], 4]
    assert asked_of(monkeypatch, 5, fails("timeout", "3")) == (whole, [5, 1, 1, 1, 1, 1])
    # Who makes the answer reads it again, and says what is wrong.
    assert asked_of(monkeypatch, 5, fails("sql", "3")) == ([0, 1, 2, None, 4], [5, 1, 1, 1, 1, 1])
    assert asked_of(monkeypatch, 5, fails("timeout", *"01234")) == ([None] * 5, [5, 1, 1, 1]), "the question is wrong"


def test_figures_are_said_as_they_are_known(
    samples: Sequence[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    good = [placed(sample, tmp_path / str(number)) for number, sample in enumerate(samples[:2])]
    question = reading.Request(**QUESTION)

    def said(*stores: Path) -> list[object]:
        reading.run(question, stores).write()
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    alone = [said(store)[0] for store in good]
    assert said(*good) == alone
    assert said(good[0], tmp_path / "nowhere", good[1]) == [alone[0], None, alone[1]]
    with pytest.raises(PerfcaseError):
        said(tmp_path / "nowhere")
    monkeypatch.setattr(reading, "LONG_S", 0.0)
    assert said(*good) == alone[:1]


@pytest.mark.parametrize("ends", ["killed", "cancelled", "torn"])
def test_what_was_said_before_the_end_is_kept(monkeypatch: pytest.MonkeyPatch, ends: str) -> None:
    """The process of four captures is killed, its client goes away, or it writes what is no figure, after two of them and a half."""
    kept: dict[str, object] = {}
    monkeypatch.setattr(readings, "_keep", lambda _here, _key, figures: kept.update(figures))
    monkeypatch.setattr(readings, "_kept", lambda *_: {})

    async def output() -> AsyncIterator[bytes]:
        yield b"[1, 1.0, null, null]\n[2, 2.0"
        yield b", null, null]\n[3, "
        if ends == "killed":
            raise ApiError("too_large", "killed")
        if ends == "torn":
            yield b"\n[4, 4.0, null, null]\n"
        await asyncio.sleep(60)

    @asynccontextmanager
    async def job(*_: object) -> AsyncIterator[object]:
        yield SimpleNamespace(output=output)

    here: Any = SimpleNamespace(
        jobs=SimpleNamespace(turn=job, answer=job), uploads=SimpleNamespace(case=Path), catalogue=None
    )
    found: dict[str, object] = {}

    async def ask() -> None:
        asked = readings._figures(here, ANONYMOUS_ADMIN, "key", list("abcd"), reading.Request(**QUESTION), found)
        await asyncio.wait_for(asked, 1 if ends == "cancelled" else 30)

    with pytest.raises(TimeoutError if ends == "cancelled" else ApiError):
        asyncio.run(ask())
    assert found == kept == {"a": [1, 1.0, None, None], "b": [2, 2.0, None, None]}
