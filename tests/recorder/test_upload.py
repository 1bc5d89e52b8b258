"""--upload: a capture goes to a server of captures; what stands in between cannot take the token, nor lose the capture."""

from __future__ import annotations

import http.server
import json
import shutil
import signal
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.api import conftest as server_of_captures
from tests.recorder.support import SHELLS, command, environment, path_without, processes_that_mention, run

pytestmark = pytest.mark.parametrize("shell", SHELLS)
SAMPLE = server_of_captures.SAMPLES / "d-nagle" / "tcp.perfcase"
TOKEN = "pc_0123456789abcdef"


@pytest.fixture
def quick() -> dict[str, str]:
    """An environment of a recorder that has fewer sources to start, and soon gives up."""
    path = path_without("perf", "trace-cmd")
    return {"PATH": path, "PERFCASE_NO_TRACE_CMD": "1", "PERFCASE_UPLOAD_TRIES": "2", "PERFCASE_UPLOAD_PATIENCE_S": "3"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[server_of_captures.Running]:
    with server_of_captures.serving(tmp_path_factory) as running:
        yield running


def token_file(folder: Path, token: str = TOKEN) -> Path:
    path = folder / "the token"
    path.write_text(f"{token}\n")
    path.chmod(0o600)
    return path


def environments() -> Iterator[bytes]:
    """Those of all processes that may be looked at."""
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            yield path.read_bytes()


@contextmanager
def answering(answer: Callable[[http.server.BaseHTTPRequestHandler, bytes], None]) -> Iterator[tuple[str, list]]:
    """A server that answers like this, and the requests that it got: method, path, Authorization, how many bytes."""
    got: list = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline(65537)
            if not self.raw_requestline or not self.parse_request():
                self.close_connection = True
                return
            body = b""
            if self.headers.get("Content-Length"):
                body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.command, self.path, self.headers.get("Authorization"), len(body)))
            answer(self, body)
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{httpd.server_port}", got
    finally:
        httpd.shutdown()
        httpd.server_close()


def say(handler: http.server.BaseHTTPRequestHandler, status: int, body: object = None, **headers: str) -> None:
    text = json.dumps(body, separators=(",", ":")).encode()
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(text)), "Connection": "close", **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(text)


@pytest.mark.parametrize("tool", ["curl", "wget"])
def test_a_recording_arrives(
    shell: str, tool: str, tmp_path: Path, quick: dict[str, str], server: server_of_captures.Running
) -> None:
    """Without -o no file stays; with it one does. The token is nowhere: not in the capture, its log, or what is printed."""
    if tool == "wget":
        quick["PATH"] = path_without("perf", "trace-cmd", "curl")
    work = tmp_path / "work"
    work.mkdir()
    words = ["--upload", f"http://127.0.0.1:{server.port}/", "--token-file", token_file(tmp_path, server.token)]
    patient = {**quick, "PERFCASE_UPLOAD_PATIENCE_S": "60"}
    texts = []
    for output in ([], ["-o", "kept.perfcase"]):
        done = subprocess.run(
            command(shell, *words, *output, "--note", f"by {tool} {output}", "--", "true"), cwd=work,
            env=environment(**patient), capture_output=True, text=True, timeout=200, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        capture_id = done.stderr.split(f"sent to http://127.0.0.1:{server.port}/#/c/")[1].split("\n")[0]
        texts.append(done.stdout + done.stderr)
        with server.client() as client:
            there = server_of_captures.wait_ready(client, capture_id)
            assert (there["remark"], there["damage"]) == (f"by {tool} {output}", None)
            original = client.get(f"/v1/captures/{capture_id}/original").content
    assert [path.name for path in work.iterdir()] == ["kept.perfcase"]
    assert (work / "kept.perfcase").read_bytes() == original
    assert not any(server.token in text for text in [*texts, original.decode(errors="replace")])


def test_it_goes_on_where_it_broke_off(
    shell: str, tmp_path: Path, quick: dict[str, str], server: server_of_captures.Running
) -> None:
    """A proxy that cuts the connection in the middle of the first two transfers, before the real server."""
    capture = tmp_path / "x.perfcase"
    shutil.copy(SAMPLE, capture)
    size = capture.stat().st_size
    cut: list[int] = []

    def pass_on(handler: http.server.BaseHTTPRequestHandler, body: bytes) -> None:
        headers = {name: value for name, value in handler.headers.items() if name.lower() != "host"}
        with server.client("") as client:
            if handler.command == "PATCH" and len(cut) < 2:
                offset = int(headers["Upload-Offset"])
                cut.append(offset)
                part = body[: len(body) // 2]
                headers["Content-Length"] = str(len(part))
                client.patch(handler.path, content=part, headers=headers)
                return  # no answer
            answer = client.request(handler.command, handler.path, content=body, headers=headers)
        say(handler, answer.status_code, answer.json())

    patient = {**quick, "PERFCASE_UPLOAD_PATIENCE_S": "60"}
    with answering(pass_on) as (url, got):
        words = ["--upload", url, "--token-file", token_file(tmp_path, server.token), "--send", capture]
        done = run(shell, *words, **patient)
    assert done.returncode == 0, done.stderr
    half = size - size // 2 if size % 2 == 0 else size // 2
    assert cut == [0, size // 2], half
    assert [count for method, _, _, count in got if method == "PATCH"][2] < size // 2
    capture_id = done.stderr.split("#/c/")[1].strip()
    with server.client() as client:
        assert client.get(f"/v1/captures/{capture_id}/original").content == capture.read_bytes()
    assert capture.exists(), "who sends a file keeps it"


ERROR = {"error": {"kind": "x", "message": "no, not \u00fc today", "hint": None}}


@pytest.mark.parametrize(
    ("status", "tries", "said"),
    [
        (500, 2, "the server answers 500: no, not"),
        (401, 1, "the server answers 401: no, not"),
        (413, 1, "the server answers 413: no, not"),
        (307, 1, "the server redirects elsewhere: give the address that it really has"),
        (200, 1, "is no server of captures"),
        (0, 2, "Operation timed out"),
    ],
)
def test_what_is_refused_stays_and_is_said(
    shell: str, status: int, tries: int, said: str, tmp_path: Path, quick: dict[str, str]
) -> None:
    capture = tmp_path / "it's.perfcase"
    shutil.copy(SAMPLE, capture)

    def refuse(handler: http.server.BaseHTTPRequestHandler, _: bytes) -> None:
        if not status:
            time.sleep(8)
            return
        say(handler, status, ERROR, **({"Location": f"{other}/v1/uploads"} if status == 307 else {}))

    with answering(lambda handler, _: say(handler, 200)) as (other, elsewhere), answering(refuse) as (url, got):
        secret = token_file(tmp_path)
        done = run(shell, "--upload", url, "--token-file", secret, "--send", capture, **quick)
    assert done.returncode == 1
    assert f"could not send the capture: {said}" in done.stderr or (said in done.stderr and status in (0, 200)), (
        done.stderr
    )
    again = f"It is in {capture}; to try again: perfcase-record --upload '{url}' --token-file '{secret}' --send "
    assert again in done.stderr
    assert done.stderr.endswith("/it'\\''s.perfcase'\n")
    assert [(method, path, token) for method, path, token, _ in got] == [
        ("POST", "/v1/uploads", f"Bearer {TOKEN}")
    ] * tries
    assert (elsewhere, capture.exists(), TOKEN in done.stderr) == ([], True, False)


def test_a_certificate_is_checked(shell: str, tmp_path: Path, quick: dict[str, str]) -> None:
    """By curl's own message: no request, and no second try."""
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]
    subprocess.run(
        [*made, "-subj", "/CN=127.0.0.1", "-keyout", key, "-out", certificate], check=True, capture_output=True
    )
    httpd = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    httpd.socket = context.wrap_socket(httpd.socket, server_side=True)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    url = f"https://127.0.0.1:{httpd.server_port}"
    before = time.monotonic()
    done = run(
        shell, "--upload", url, "--token-file", token_file(tmp_path), "--send", SAMPLE,
        **{**quick, "PERFCASE_UPLOAD_TRIES": "8", "HOME": str(tmp_path)},
    )  # fmt: skip
    httpd.shutdown()
    httpd.server_close()
    assert (done.returncode, "self-signed certificate" in done.stderr) == (1, True), done.stderr
    assert time.monotonic() - before < 10


def test_the_token_is_on_no_command_line_and_in_no_environment(
    shell: str, tmp_path: Path, quick: dict[str, str]
) -> None:
    """Looked for in all processes while a request hangs; a signal ends it, and the capture stays."""
    with answering(lambda *_: time.sleep(30)) as (url, got):
        sending = subprocess.Popen(
            command(shell, "--upload", url, "--token-file", token_file(tmp_path), "--send", SAMPLE),
            env=environment(**{**quick, "PERFCASE_UPLOAD_PATIENCE_S": "60"}), stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        end = time.monotonic() + 20
        while not got and time.monotonic() < end:
            time.sleep(0.05)
        assert processes_that_mention(url)
        seen = (processes_that_mention(TOKEN), [text for text in environments() if TOKEN.encode() in text])
        sending.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        sending.send_signal(signal.SIGTERM)
        _, said = sending.communicate(timeout=20)
    assert seen == ([], [])
    assert sending.returncode == 128 + signal.SIGTERM
    assert f"SIGTERM: the capture is being sent. Once more leaves it in {SAMPLE}" in said
    assert f"could not send the capture: a signal ended it. It is in {SAMPLE}; to try again" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--upload", "captures.example"], "--upload captures.example: not the address of a server"),
        (["--upload", "ftp://x"], "--upload ftp://x: not the address of a server"),
        (["--upload", "https://a b"], "not the address of a server"),
        (["--upload", "https://me:word@x"], "--upload: the address holds credentials, which others can see"),
        (["--upload", "https://x", "-o", "-"], "--upload sends a file: not with -o -"),
        (["--token-file", "x"], "--token-file and --send go with --upload URL"),
        (["--upload", "https://x", "--send", "none"], "--send 'none': a capture"),
        (["--upload", "https://x", "--token-file", "none"], "none: No such file or directory"),
        (["--upload", "https://x", "--token-file", "open"], "open: others may read it: chmod 600"),
        (["--upload", "https://x", "--token-file", "empty"], "empty: holds no token"),
        (["--upload", "https://x", "--token-file", "two words"], "two words: holds what is no token"),
        (["--upload", "https://x", "--token-file", "."], ".: is no file"),
    ],
)
def test_it_is_looked_at_before_the_recording(
    shell: str, words: list[str], said: str, tmp_path: Path, quick: dict[str, str]
) -> None:
    for name, text, mode in (("open", TOKEN, 0o640), ("empty", "\n", 0o600), ("two words", "a b", 0o600)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(mode)
    done = subprocess.run(
        command(shell, *words, "--", "touch", "it-ran"), cwd=tmp_path, env=environment(**quick), capture_output=True,
        text=True, timeout=30, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "open", "two words"]
