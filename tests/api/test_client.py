"""perfcase.Client against a real server, and against one that breaks off."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import duckdb
import pytest

import perfcase
from perfcase.errors import PerfcaseError
from perfcase.server_client import client as client_module
from tests.api.conftest import SAMPLES, Running

COUNTS_CAPTURES = True

TCP = SAMPLES / "d-nagle" / "tcp.perfcase"
PIPE = SAMPLES / "d-nagle" / "pipe.perfcase"


@pytest.fixture(scope="module")
def client(server: Running) -> perfcase.Client:
    return perfcase.Client(f"http://127.0.0.1:{server.port}/", server.token)


@pytest.fixture(scope="module")
def capture(client: perfcase.Client) -> dict:
    return client.upload(TCP, ticket="OPS-1")


def test_an_upload_is_told_as_it_goes(client: perfcase.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "_PART", 300_000)
    told = []
    # A capture that no other test sends: what is there already keeps its ticket.
    file = SAMPLES / "e-page-cache" / "fits.perfcase"
    sent = client.upload(file, ticket="OPS-2", progress=lambda *step: told.append(step))
    size = file.stat().st_size
    assert (sent["state"], sent["ticket"], sent["size_bytes"]) == ("ready", "OPS-2", size)
    sending = [step for step in told if step[0] == "sending"]
    assert sending == [*(("sending", offset, size) for offset in range(0, size, 300_000)), ("sending", size, size)]
    assert told[-1] == ("ready", 0, None)
    assert client.upload(file)["capture_id"] == sent["capture_id"]


def test_the_same_lines_here_and_there(client: perfcase.Client, capture: dict, sample) -> None:
    here = perfcase.open(sample("d-nagle/tcp"))
    there = capture["capture_id"]
    select = "SELECT comm, on_cpu_ns FROM thread_time ORDER BY ALL"
    assert client.sql(select, capture_id=there).fetchall() == [(there, *row) for row in here.sql(select).fetchall()]
    assert client.sql(select, ticket="OPS-1", limit=2).shape == (2, 3)
    view = client.view(there, "thread", order="utid", limit=5)
    assert view.columns == here.table("thread").columns
    assert view.fetchall() == here.table("thread").order("utid").limit(5).fetchall()
    frame = client.view(there, "thread_time", process=["order-client"], order="on_cpu_ns DESC").df()
    assert set(frame["comm"]) == {"order-client"}
    assert frame["on_cpu_ns"].is_monotonic_decreasing
    assert client.findings(there).fetchall() == here.findings().fetchall()
    assert client.findings(there).columns == here.findings().columns
    asked = {"view": "thread_time", "a_window": "0s..1s", "b_window": "1s..2s", "limit": 3}
    assert client.diff(there, **asked).project("view, key, a, b").fetchall() == (
        here.diff(**asked).project("view, key, a, b").fetchall()
    )
    assert client.info(there)["sources"] == here.info()["sources"]
    assert (
        json.loads(client.flamegraph(there, off_cpu=True, fmt="json"))["weight"]
        == (json.loads(here.flamegraph(off_cpu=True, fmt="json"))["weight"])
    )
    assert client.report(there).splitlines()[0] == here.report().splitlines()[0]
    assert client.summary(there).startswith("# perfcase summary")
    figure = {"view": "thread_time", "measure": "switch_count"}
    there_too = client.history(ticket="OPS-1", **figure)
    assert there_too.columns == perfcase.history(sample("d-nagle/tcp"), **figure).columns
    assert there_too.project("value").fetchall() == (
        perfcase.history(sample("d-nagle/tcp"), **figure).project("value").fetchall()
    )


def test_what_else_there_is(client: perfcase.Client, capture: dict, tmp_path: Path) -> None:
    other = client.upload(PIPE)["capture_id"]
    assert {each["capture_id"] for each in client.captures()} >= {capture["capture_id"], other}
    assert [each["name"] for each in client.captures(ticket="OPS-1")] == ["tcp.perfcase"]
    assert client.diff(other, capture["capture_id"], view="thread_time", limit=3).fetchall()
    assert client.get(f"/v1/captures/{other}/flamegraph", off_cpu=True).startswith(b"<svg")
    assert client.download(other, tmp_path / "x").read_bytes() == PIPE.read_bytes()
    client.delete(other)
    with pytest.raises(PerfcaseError, match="there is no capture"):
        client.capture(other)


def test_pages_are_followed(client: perfcase.Client, capture: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    client.upload(PIPE)
    whole = list(client.captures())
    assert len(whole) >= 2
    monkeypatch.setattr(client_module, "_PAGE", 1)
    assert list(client.captures()) == whole


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda c, i: c.view(i, "nothing"), "not_found", "there is no view"),
        (lambda c, i: c.sql("DROP TABLE thread", capture_id=i), "sql", "DROP is not allowed"),
        (lambda c, i: c.sql("SELECT 1"), "usage", "either capture_id or ticket"),
        (lambda c, i: perfcase.Client(c.url, "pc_wrong").capture(i), "not_permitted", "a valid token"),
        (lambda c, i: perfcase.Client("http://127.0.0.1:1", "").capture(i), "environment", "refused"),
        (lambda c, i: perfcase.Client("ftp://host", ""), "usage", "not the address of a server"),
        (lambda c, i: c.upload(__file__), "input", "test_client.py"),
    ],
)  # fmt: skip
def test_errors(client: perfcase.Client, capture: dict, call, kind: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(PerfcaseError, match=message) as caught:
        call(client, capture["capture_id"])
    assert caught.value.kind == kind


def test_the_token_of_the_environment(
    client: perfcase.Client, server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERFCASE_TOKEN", server.token)
    assert perfcase.Client(client.url).json("GET", "/v1/me")["role"] == "admin"


class Hostile(BaseHTTPRequestHandler):
    """A server that breaks off, sends away, and takes half of what it is sent."""

    got = bytearray()
    failures = 0

    def answer(self, status: int, body: object, **headers: str) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self) -> None:
        self.answer(201, self.upload())

    def upload(self) -> dict:
        is_whole = len(self.got) == TCP.stat().st_size
        return {
            "upload_id": self.path.rpartition("/")[2],
            "size_bytes": TCP.stat().st_size,
            "offset_bytes": len(self.got),
            "capture_id": "c" if is_whole else None,
        }

    def do_PATCH(self) -> None:
        assert int(self.headers["Upload-Offset"]) == len(self.got)
        data = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).failures += 1
        if self.failures % 2:
            # Half of it arrives, and nobody hears about it.
            type(self).got += data[: len(data) // 2]
            self.connection.close()
            return
        type(self).got += data
        if self.path.endswith("/last") and self.upload()["capture_id"]:
            # The word that all has arrived is lost.
            self.connection.close()
            return
        self.answer(200, self.upload())

    def do_GET(self) -> None:
        if self.path.endswith("/original"):
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"short")
        elif self.path.endswith("/away"):
            self.answer(302, {}, Location=f"http://127.0.0.1:{self.server.server_port}/v1/uploads/x")
        elif self.path.endswith("/last") and self.upload()["capture_id"]:
            self.answer(404, {"error": {"kind": "not_found", "message": "there is no upload", "hint": None}})
        elif "uploads" in self.path:
            self.answer(200, self.upload())
        elif "views" in self.path:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"no arrow")
        else:
            self.answer(200, {"name": "x", "state": "ready"})

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch) -> Iterator[perfcase.Client]:
    monkeypatch.setattr(client_module, "_PART", 400_000)
    served = ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    threading.Thread(target=served.serve_forever, daemon=True).start()
    yield perfcase.Client(f"http://127.0.0.1:{served.server_port}", "secret")
    served.shutdown()


def test_an_upload_goes_on_where_it_stopped(hostile: perfcase.Client) -> None:
    hostile.upload(TCP, wait=False)
    assert bytes(Hostile.got) == TCP.read_bytes()
    assert Hostile.failures > 2


def test_an_upload_whose_end_nobody_heard_of(hostile: perfcase.Client) -> None:
    Hostile.got.clear()
    assert hostile.upload(TCP, resume="last") == {"name": "x", "state": "ready"}
    assert bytes(Hostile.got) == TCP.read_bytes()


def test_an_upload_goes_on_another_day(hostile: perfcase.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    Hostile.got.clear()
    Hostile.failures = 0
    monkeypatch.setattr(client_module, "_TRIES", 1)
    with pytest.raises(PerfcaseError, match=r"go on with resume='uploads'"):
        hostile.upload(TCP, wait=False)
    with pytest.raises(PerfcaseError, match="is not the file of upload x"):
        hostile.upload(PIPE, wait=False, resume="x")
    begun = len(Hostile.got)
    monkeypatch.setattr(client_module, "_TRIES", 8)
    told = []
    hostile.upload(TCP, wait=False, resume="x", progress=lambda *step: told.append(step))
    assert told[0] == ("sending", begun, TCP.stat().st_size)
    assert begun > 0
    assert bytes(Hostile.got) == TCP.read_bytes()


def test_an_answer_that_is_cut_is_none(hostile: perfcase.Client, tmp_path: Path) -> None:
    with pytest.raises(PerfcaseError, match="cut"):
        hostile.download("x", tmp_path / "x")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(PerfcaseError, match="cut"):
        hostile.view("x", "thread")
    with pytest.raises(PerfcaseError, match="HTTP 302"):
        hostile.get("/away")


def test_a_capture_as_a_connection(sample) -> None:
    with (
        perfcase.open(sample("d-nagle/tcp")) as whole,
        perfcase.open(sample("d-nagle/tcp"), only=["process=order-client"]) as part,
    ):
        select = "SELECT DISTINCT comm FROM thread_time WHERE on_cpu_ns > 0"
        assert part.sql(select).fetchall() == [("order-client",)]
        assert len(whole.sql(select).fetchall()) > 1
        assert list(part.sql(select).df()["comm"]) == ["order-client"]
        from nanoarrow import ArrayStream

        assert (
            ArrayStream(whole.table("thread_time")).read_all().schema.field(0).name
            == whole.table("thread_time").columns[0]
        )
        with pytest.raises(duckdb.Error):
            whole.execute("CREATE TABLE x AS SELECT 1")
    assert not hasattr(perfcase, "nothing")
