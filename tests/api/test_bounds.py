"""What a client may make the server hold: bodies, heads, connections, and answers that nobody reads."""

from __future__ import annotations

import http.client
import io
import json
import socket
import tarfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.api.conftest import SAMPLES, Running, start, upload

PATIENCE_S = 1.0
CONNECTIONS = {"patience_s": PATIENCE_S, "look_s": 0.1, "connections_max": 24, "connections_of_address_max": 20}
LARGE = 24 << 20
SOON_S = 20


@pytest.fixture(scope="module")
def bounded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server of little patience, where one analysis runs at a time."""
    running = start(
        tmp_path_factory.mktemp("bounds") / "store", "", "--workers", "1", "--job-seconds", "300",
        bounds={"connections": CONNECTIONS, "limits": {"uploads_of_user": 3}},
    )  # fmt: skip
    yield running
    running.stop()


def connect(running: Running, sent: bytes = b"") -> socket.socket:
    made = socket.create_connection(("127.0.0.1", running.port), timeout=SOON_S)
    made.sendall(sent)
    return made


def rest(connection: socket.socket) -> bytes:
    """All that comes until the other end closes."""
    got = bytearray()
    try:
        while part := connection.recv(1 << 20):
            got += part
    except ConnectionResetError:
        pass
    return bytes(got)


def is_cut(connection: socket.socket, sent: bytes) -> bool:
    """Whether the other end soon takes no more."""
    end = time.monotonic() + SOON_S
    while time.monotonic() < end:
        try:
            connection.sendall(sent)
        except (BrokenPipeError, ConnectionResetError):
            return True
        time.sleep(0.05)
    return False


def head(running: Running, method: str, path: str, **headers: str) -> bytes:
    lines = {
        "Host": "x",
        "Authorization": f"Bearer {running.token}",
        **{k.replace("_", "-"): v for k, v in headers.items()},
    }
    return (
        f"{method} {path} HTTP/1.1\r\n{''.join(f'{k}: {v}{chr(13)}{chr(10)}' for k, v in lines.items())}\r\n".encode()
    )


def archive(manifest: bytes, *members: tuple[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in (("manifest.json", manifest), *members):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return made.getvalue()


def with_size(archived: bytes, at: int, size: bytes) -> bytes:
    """An archive in which the header at an offset has another size, and a checksum that fits."""
    block = bytearray(archived[at : at + 512])
    block[124:136] = size
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return archived[:at] + bytes(block) + archived[at + 512 :]


@pytest.mark.parametrize(
    "size", [b"-5         \0", b"-0000000512\0", b"\xff" * 12, b"77777777777\0", b"\x80" + b"\x7f" * 11]
)
def test_no_size_of_a_member_hangs_the_server(bounded: Running, size: bytes) -> None:
    good = archive(b'{"format": "perfcase", "format_version": "1.1", "members": []}', ("host/uname", b"x" * 600))
    with bounded.client() as client:
        refused = client.post("/v1/captures", params={"name": "x"}, content=with_size(good, 1024, size), timeout=SOON_S)
        assert refused.status_code == 422, refused.text
        assert client.get("/v1/health", timeout=SOON_S).status_code == 200


@pytest.mark.parametrize(
    "manifest",
    [b"[" * (5 << 20), b'{"format": "perfcase", "members": [' + b"{}," * (2 << 20) + b"{}]}", b'{"members": 1}'],
)
def test_a_manifest_is_untrusted(bounded: Running, manifest: bytes) -> None:
    """It is read in a process that ends; whatever is in it, the server answers others meanwhile."""
    with bounded.client() as client:
        answer = client.post("/v1/captures", params={"name": "x"}, content=archive(manifest, ("a", b"x")), timeout=60)
        assert answer.status_code in (201, 422), answer.text
        assert client.get("/v1/health", timeout=SOON_S).status_code == 200


def test_one_who_asks_again_and_again_may_go_on(bounded: Running) -> None:
    """Whenever the server looks, it waits for the next head: that uses up no patience."""
    connection = http.client.HTTPConnection("127.0.0.1", bounded.port, timeout=SOON_S)
    connection.connect()
    # httpx would make another connection without a word.
    connection.auto_open = 0
    end = time.monotonic() + 3 * PATIENCE_S
    with closing(connection):
        while time.monotonic() < end:
            connection.request("GET", "/v1/health")
            assert connection.getresponse().read()
            time.sleep(0.9 * CONNECTIONS["look_s"])


def test_a_long_body_is_not_read(bounded: Running) -> None:
    """Neither one that says so, nor one that does not."""
    with connect(
        bounded, head(bounded, "POST", "/v1/sql", Authorization="-", Content_Length=str(1 << 30))
    ) as connection:
        assert rest(connection).startswith(b"HTTP/1.1 413 ")
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    with connect(bounded, head(bounded, "POST", "/v1/sql", Transfer_Encoding="chunked") + chunk + chunk) as connection:
        answer = rest(connection)
        assert answer.startswith(b"HTTP/1.1 413 "), answer
        assert json.loads(answer.split(b"\r\n\r\n")[1])["error"]["kind"] == "too_large"


def test_an_upload_is_not_read_without_a_token(bounded: Running) -> None:
    sent = head(bounded, "POST", "/v1/captures?name=x", Authorization="-", Content_Length=str(1 << 30))
    with connect(bounded, sent + b"x" * 100_000) as connection:
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 401 ")
        assert is_cut(connection, b"x" * 1000)


def test_a_head_is_short(bounded: Running) -> None:
    with connect(bounded, b"GET /v1/health HTTP/1.1\r\nX: " + b"x" * 100_000) as connection:
        assert rest(connection)[:12] in (b"HTTP/1.1 400", b"")


@pytest.mark.parametrize("sent", [b"", b"GET /v1/health HTTP/1.1\r\nX:"])
def test_who_says_nothing_is_let_go(bounded: Running, sent: bytes) -> None:
    """Before the head and in it, also where a byte comes now and then."""
    with connect(bounded, sent) as connection:
        began = time.monotonic()
        connection.settimeout(0.3)
        while time.monotonic() - began < SOON_S:
            try:
                if sent:
                    connection.sendall(b"x")
                assert connection.recv(100) == b""
                break
            except TimeoutError:
                continue
            except (BrokenPipeError, ConnectionResetError):
                break
        assert PATIENCE_S * 0.8 <= time.monotonic() - began < SOON_S


def test_a_body_that_does_not_come(bounded: Running) -> None:
    with bounded.client() as client:
        new = client.post("/v1/uploads", json={"name": "x", "size_bytes": 1000}).json()
        place = f"/v1/uploads/{new['upload_id']}"
        with connect(bounded, head(bounded, "PATCH", place, Upload_Offset="0", Content_Length="1000") + b"xyz") as one:
            assert rest(one) == b""
        assert client.get(place).json()["offset_bytes"] == 3, "what came is kept"
        assert client.delete(place).status_code == 204


def test_connections_are_counted(bounded: Running) -> None:
    many = [connect(bounded) for _ in range(20)]
    try:
        with connect(bounded, head(bounded, "GET", "/v1/health")) as one_more:
            assert rest(one_more).startswith(b"HTTP/1.1 503 ")
    finally:
        for connection in many:
            connection.close()
    with bounded.client() as client:
        assert client.get("/v1/health").status_code == 200


@pytest.fixture(scope="module")
def large(bounded: Running) -> str:
    """A file that does not fit what kernels hold for a connection."""
    with bounded.client() as client:
        made = client.post("/v1/captures", params={"name": "x"}, content=b"no capture " * (LARGE // 11))
        return made.json()["capture_id"]


def test_who_does_not_read_is_let_go(bounded: Running, large: str) -> None:
    with connect(bounded, head(bounded, "GET", f"/v1/captures/{large}/original")) as connection:
        time.sleep(PATIENCE_S * 4)
        assert len(rest(connection)) < LARGE // 2


def test_who_reads_slowly_gets_it_all(bounded: Running, large: str) -> None:
    with connect(bounded, head(bounded, "GET", f"/v1/captures/{large}/original", Connection="close")) as connection:
        got = 0
        while part := connection.recv(1 << 20):
            got += len(part)
            time.sleep(0.1)
        assert got > LARGE // 11 * 11


def test_a_slow_reader_keeps_nobody_waiting(bounded: Running) -> None:
    """One analysis at a time: it is over when its process is, not when its answer was read."""
    with bounded.client() as client:
        capture_id = upload(client, SAMPLES / "d-nagle" / "pipe.perfcase")
        other = client.post("/v1/tokens", json={"name": "other", "role": "viewer"}).json()["secret"]
        question = {"capture_id": capture_id, "format": "csv", "limit": 1_000_000,
                    "sql": "SELECT range AS number, 'some text to fill the line' AS text FROM range(800000)"}  # fmt: skip
        asked = json.dumps(question).encode()
        sent = head(bounded, "POST", "/v1/sql", Content_Type="application/json", Content_Length=str(len(asked)))
        with connect(bounded, sent + asked) as connection, bounded.client(other) as reader:
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
            small = reader.post("/v1/sql", json={"capture_id": capture_id, "sql": "SELECT 1 AS one"}, timeout=SOON_S)
            assert small.json()[0]["one"] == 1


def test_uploads_that_are_not_finished_are_few(bounded: Running) -> None:
    with bounded.client() as client:
        made = [client.post("/v1/uploads", json={"name": "x", "size_bytes": 10}) for _ in range(4)]
        assert [answer.status_code for answer in made] == [201, 201, 201, 409]
        for answer in made[:3]:
            client.delete(f"/v1/uploads/{answer.json()['upload_id']}")


def test_memory(bounded: Running) -> None:
    """None of the above was held in memory."""
    status = Path(f"/proc/{bounded.process.pid}/status").read_text()
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    assert peak < 400 << 10, f"{peak} KiB"
