"""Equal questions that are asked at once are worked out once; who goes away harms nobody, and the last who goes ends the work."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest

from perfcase_api.asking import Held
from perfcase_api.line import Line, urgency
from perfcase_api.shared import Shared
from tests.api.conftest import SAMPLES, Running, start, upload
from tests.api.test_access import token
from tests.api.test_bounds import connect, head
from tests.api.test_nursery import SLOW, children, nursery, until

MANY = 20
LONG = "SELECT sum(levenshtein(repeat('a', 20000), repeat('b', 20000) || i::VARCHAR)) AS n{} FROM range(2) AS r(i)"
"""Takes a second of a CPU."""
LARGE = "SELECT repeat('x', 1000000) || i::VARCHAR AS text FROM range({}) AS r(i)"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, list[str]]]:
    """A server with two captures."""
    options = ("--workers", "2", "--requests-per-minute", "1000000", "--job-seconds", "300")
    running = start(tmp_path_factory.mktemp("together") / "store", "", *options)
    with running.client() as client:
        ids = [upload(client, SAMPLES / "d-nagle" / f"{name}.perfcase") for name in ("pipe", "tcp")]
    yield running, ids
    running.stop()


def analyses(client: httpx.Client, which: str = "total") -> float:
    """How many analyses have had a process; or how many questions wait."""
    (count,) = re.findall(rf"^perfcase_analyses_{which} (\S+)", client.get("/metrics").text, re.MULTILINE)
    return float(count)


def at_once(server: Running, ask: Callable[[httpx.Client], httpx.Response], count: int = MANY) -> list[httpx.Response]:
    """The answers to a question that so many clients ask at once."""
    begin = threading.Barrier(count)

    def one(_: int) -> httpx.Response:
        with server.client() as client:
            begin.wait()
            return ask(client)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


@pytest.mark.parametrize(
    "question",
    ["report?format=json&top=7", "findings?limit=900", "views/thread_time?limit=901", "flamegraph?off_cpu=true&format=json", "diff"],
)  # fmt: skip
def test_a_question_is_worked_out_once(asked: tuple[Running, list[str]], question: str) -> None:
    server, ids = asked
    path = f"/v1/diff?a={ids[0]}&b={ids[1]}" if question == "diff" else f"/v1/captures/{ids[1]}/{question}"
    with server.client() as client:
        before = analyses(client)
        answers = at_once(server, lambda client: client.get(path))
        assert {(answer.status_code, answer.content) for answer in answers} == {(200, answers[0].content)}
        assert analyses(client) == before + 1


def test_histories_ask_the_captures_once(asked: tuple[Running, list[str]]) -> None:
    """Nobody, where the imports have worked out the figure: the usual one of each view."""
    server, _ = asked
    largest, usual = {"measure": "duration_ns", "agg": "max"}, {"measure": "duration_ns"}
    for given, count in ((largest, 1), (usual, 0)):
        with server.client() as client:
            before = analyses(client)
            query = {"view": "run_queue_stretch", **given}
            answers = at_once(server, lambda client, query=query: client.get("/v1/history", params=query))
            assert {(answer.status_code, answer.content) for answer in answers} == {(200, answers[0].content)}
            # The captures' figures, and the history.
            assert analyses(client) == before + count + 1


def test_an_error_is_everybodys(short: Running) -> None:
    """A question that takes too long is not tried again by each who waited for it."""
    with short.client() as client:
        (capture,) = client.get("/v1/captures").json()["captures"]
        before = analyses(client)
        body = {"sql": SLOW, "capture_id": capture["capture_id"]}
        answers = at_once(short, lambda client: client.post("/v1/sql", json=body))
        assert {answer.status_code for answer in answers} == {504}
        (error,) = {answer.json()["error"]["message"] for answer in answers}
        assert error == "stopped after 1 s of CPU time"
        assert analyses(client) == before + 1


def test_an_answer_that_is_too_large_to_keep_is_worked_out_once(asked: tuple[Running, list[str]]) -> None:
    server, ids = asked
    body = {"sql": LARGE.format(36), "capture_id": ids[0], "format": "csv"}
    with server.client() as client:
        before = analyses(client)
        readers = [connect_to(server, body) for _ in range(4)]
        try:
            # The first parts are there for all, and nobody has read to the end.
            assert [reader.recv(12) for reader in readers] == [b"HTTP/1.1 200"] * len(readers)
            assert analyses(client) == before + 1
        finally:
            for reader in readers:
                reader.close()


def connect_to(server: Running, body: dict):
    """A connection on which this was asked of /v1/sql."""
    data = httpx.Request("POST", "http://x", json=body).content
    sent = head(server, "POST", "/v1/sql", Content_Type="application/json", Content_Length=str(len(data)))
    return connect(server, sent + data)


def test_who_asked_first_may_go(asked: tuple[Running, list[str]]) -> None:
    server, ids = asked
    body = {"sql": LONG.format(1), "capture_id": ids[0]}
    with server.client() as client, ThreadPoolExecutor(MANY) as pool:
        until(lambda: not children(nursery(server)))
        before = analyses(client)
        first = connect_to(server, body)
        until(lambda: children(nursery(server)))
        (process,) = children(nursery(server))
        os.kill(process, signal.SIGSTOP)
        others = [pool.submit(client.post, "/v1/sql", json=body) for _ in range(MANY)]
        until(lambda: analyses(client, "waiting") == MANY)
        first.close()
        until(lambda: analyses(client, "waiting") == MANY - 1)
        os.kill(process, signal.SIGCONT)
        assert {other.result().status_code for other in others} == {200}
        assert analyses(client) == before + 1


def test_the_last_who_goes_ends_the_work(asked: tuple[Running, list[str]]) -> None:
    server, ids = asked
    body = {"sql": SLOW, "capture_id": ids[0]}
    until(lambda: not children(nursery(server)))
    waiting = [connect_to(server, body) for _ in range(3)]
    with server.client() as client:
        for left in (2, 1, 0):
            until(lambda left=left: analyses(client, "waiting") == left)
            assert len(children(nursery(server))) == 1
            waiting.pop().close()
    until(lambda: not children(nursery(server)))
    until(lambda: not list((server.store / "scratch").iterdir()))


@pytest.mark.parametrize(
    "route",
    ["captures/{0}/report", "captures/{0}/findings", "captures/{0}/summary", "captures/{0}/flamegraph?off_cpu=true&width=900",
     "captures/{0}/export?to=parquet", "diff?a={0}&b={1}", "diff/flamegraph?a={0}&b={1}", "history?view=thread&agg=count"],
)  # fmt: skip
def test_every_long_question_ends_with_who_asked(asked: tuple[Running, list[str]], route: str) -> None:
    server, ids = asked
    for kept in (server.store / "answers").iterdir():
        kept.unlink()
    until(lambda: not children(nursery(server)))
    with connect(server, head(server, "GET", f"/v1/{route.format(*ids)}")) as connection:
        if "export" in route:
            # In the middle of the answer, too.
            assert connection.recv(12) == b"HTTP/1.1 200"
        until(lambda: children(nursery(server)))
        for process in children(nursery(server)):
            # It does not end by itself.
            os.kill(process, signal.SIGSTOP)
    until(lambda: not children(nursery(server)))
    until(lambda: not list((server.store / "scratch").iterdir()))


def test_a_slow_reader_holds_up_nobody_else(asked: tuple[Running, list[str]]) -> None:
    """Neither those who asked the same, nor what comes after it of those."""
    server, ids = asked
    body = {"sql": LARGE.format(35), "capture_id": ids[1], "format": "csv"}
    with server.client() as client:
        mine = connect_to(server, body)
        assert mine.recv(12) == b"HTTP/1.1 200"
        with server.client(token(client, "viewer", "")["secret"]) as other:
            read = other.post("/v1/sql", json=body)
            assert len(read.content) > 35_000_000
            # Two of them at once are all that one may have: one of the slow reader's, and none of this one's.
            for number in range(3):
                assert other.get(f"/v1/captures/{ids[1]}/views/thread?limit={700 + number}").status_code == 200
        mine.close()


def test_what_an_answer_holds_is_let_go_before_its_first_part() -> None:
    """A user has few turns: one that is never given back is missed for ever."""

    async def run() -> list[str]:
        ended: list[str] = []
        stack = AsyncExitStack()
        stack.callback(ended.append, "ended")

        async def parts() -> AsyncIterator[bytes]:
            yield b"x"

        async def gone() -> dict[str, str]:
            return {"type": "http.disconnect"}

        async def send(_: object) -> None:
            await asyncio.sleep(60)

        await Held(stack, parts(), "text/plain", {})({"type": "http", "asgi": {"spec_version": "2.3"}}, gone, send)
        return ended

    assert asyncio.run(run()) == ["ended"]


def test_what_is_urgent_comes_first(tmp_path: Path) -> None:
    """The one at work is not stopped for it."""
    running = start(tmp_path / "store", "", "--job-seconds", "300", bounds={"limits": {"jobs_per_user": 1}})
    with running.client() as client, ThreadPoolExecutor(4) as pool:
        capture_id = upload(client, SAMPLES / "d-nagle" / "pipe.perfcase")
        running_first = connect_to(running, {"sql": SLOW, "capture_id": capture_id})
        until(lambda: children(nursery(running)))
        (process,) = children(nursery(running))
        os.kill(process, signal.SIGSTOP)
        done: list[str] = []

        def ask(number: int, priority: str | None) -> None:
            headers = {} if priority is None else {"Priority": priority}
            route = f"/v1/captures/{capture_id}/views/thread?limit={number}"
            assert client.get(route, headers=headers).status_code == 200
            done.append(priority or "-")

        asked = []
        for number, priority in enumerate(["u=5, i", None, "u=1"], 1):
            asked.append(pool.submit(ask, number, priority))
            until(lambda number=number: analyses(client, "waiting") == number)
        running_first.close()
        for each in asked:
            each.result()
        assert done == ["u=1", "-", "u=5, i"]
    running.stop()


@pytest.mark.parametrize(
    ("header", "expected"), [("u=1", 1), ("i, u=5", 5), ("", 3), ("u=8", 3), ("u=12", 3), ("xu=1", 3), ("u=0;x", 0)]
)
def test_how_urgent_a_header_says_it_is(header: str, expected: int) -> None:
    assert urgency(header) == expected


def test_a_line() -> None:
    """Who leaves it while waiting, also in the moment of being called, takes no place along."""

    async def run() -> list[int]:
        line, order = Line(1), []

        async def hold(number: int, urgency: int) -> None:
            async with line.place(urgency):
                order.append(number)
                await asyncio.sleep(0)

        async with line.place():
            waiting = [asyncio.create_task(hold(number, urgency)) for number, urgency in enumerate((5, 3, 1, 1, 0, 0))]
            await asyncio.sleep(0)
            waiting[2].cancel()
        # The most urgent is called by now, and goes before it has heard of it.
        waiting[4].cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        async with asyncio.timeout(5), line.place():
            pass
        return order

    assert asyncio.run(run()) == [5, 3, 1, 0]


class Made:
    """A context manager that counts."""

    def __init__(self, error: Exception | None = None) -> None:
        self.log: list[str] = []
        self._error = error

    async def __aenter__(self) -> str:
        self.log.append("made")
        await asyncio.sleep(0)
        if self._error:
            raise self._error
        return "it"

    async def __aexit__(self, *_: object) -> None:
        # As an end that takes its time, and is not cut short by who is cancelled.
        await asyncio.sleep(0.01)
        self.log.append("ended")


def test_what_is_shared() -> None:
    async def run() -> None:
        shared: Shared[str] = Shared()
        made = Made()

        async def use(seconds: float) -> str:
            async with shared.use("key", lambda: made) as thing:
                await asyncio.sleep(seconds)
                return thing

        users = [asyncio.create_task(use(seconds)) for seconds in (0.01, 0.02, 60)]
        await asyncio.wait(users[:2])
        assert made.log == ["made"]
        assert shared.at_hand("key") == "it"
        users[2].cancel()
        await asyncio.wait(users)
        assert len(shared) == 0
        await shared.ended()
        assert made.log == ["made", "ended"]
        # The next one is made again.
        assert await use(0) == "it"
        await shared.ended()
        assert made.log == ["made", "ended"] * 2
        wrong = Made(ValueError("x"))

        async def fail() -> None:
            with pytest.raises(ValueError, match="x"):
                async with shared.use("wrong", lambda: wrong):
                    pass

        await asyncio.gather(fail(), fail())
        assert wrong.log == ["made"]
        assert len(shared) == 0

    asyncio.run(run())


def test_all_gone_before_it_is_made() -> None:
    async def run() -> None:
        shared: Shared[None] = Shared()
        line = asyncio.Semaphore(1)
        async with line:
            user = asyncio.create_task(shared.use("key", lambda: line).__aenter__())
            await asyncio.sleep(0)
            user.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await user
        await shared.ended()
        await asyncio.wait_for(line.acquire(), 5)

    asyncio.run(run())
