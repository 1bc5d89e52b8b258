"""What who runs a server needs: behind a proxy, figures, logs, HEAD."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from perfcase_api.auditing import rotate
from perfcase_api.catalogue import Catalogue
from tests.api.conftest import SAMPLES, Running, start, upload
from tests.api.test_access import token
from tests.support.cli import fail

PIPE = SAMPLES / "d-nagle" / "pipe.perfcase"
FORWARDED = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https"}


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("proxied")
    running = start(folder / "store", "", "--root-path", "/perfcase/", "--trusted-proxy", "127.0.0.0/8",
                    "--access-log", str(folder / "access.log"))  # fmt: skip
    yield running
    running.stop()


@pytest.fixture(scope="module")
def capture_id(proxied: Running) -> str:
    with proxied.client() as client:
        return upload(client, PIPE)


@pytest.mark.parametrize("prefix", ["", "/perfcase"], ids=["the proxy takes the path off", "it does not"])
def test_below_a_path(proxied: Running, capture_id: str, prefix: str) -> None:
    with proxied.client() as client:
        assert client.get(f"{prefix}/v1/captures/{capture_id}").json()["capture_id"] == capture_id
        assert client.get(f"{prefix}/openapi.json").json()["servers"] == [{"url": "/perfcase"}]
        page = client.get(f"{prefix}/")
        (script,) = re.findall(r'src="([^"]*)"', page.text)
        assert script.startswith("./")
        assert client.get(f"{prefix}/{script}").status_code == 200
    with proxied.client("") as browser:
        signed = browser.post(f"{prefix}/v1/session", json={"token": proxied.token}, headers=FORWARDED)
        assert "Path=/perfcase/" in signed.headers["set-cookie"]
        assert "Secure" in signed.headers["set-cookie"], "the browser speaks https with the proxy"


def test_the_page_is_found_without_its_slash(proxied: Running) -> None:
    with proxied.client() as client:
        assert client.get("/perfcase").headers["location"].endswith("/perfcase/")


def test_who_is_believed(proxied: Running, server: Running, admin: httpx.Client, tmp_path: Path) -> None:
    """A trusted proxy is, and nobody else, not even on this machine."""
    with proxied.client() as client:
        client.post("/v1/tokens", json={"name": "x", "role": "viewer"}, headers=FORWARDED)
        assert client.get("/v1/audit").json()[0]["address"] == "203.0.113.7"
    admin.post("/v1/tokens", json={"name": "x", "role": "viewer"}, headers=FORWARDED)
    assert admin.get("/v1/audit").json()[0]["address"] == "127.0.0.1"
    assert "--trusted-proxy" in fail(2, "serve", "--store", tmp_path / "x", "--trusted-proxy", "everybody")
    assert "--root-path" in fail(2, "serve", "--store", tmp_path / "x", "--root-path", "//evil.example")


def test_head(proxied: Running, capture_id: str) -> None:
    """As GET says it, without a body; also where the body would be long or never end."""
    with proxied.client() as client:
        for route in ("/v1/health", "/v1/captures", f"/v1/captures/{capture_id}/original", "/", "/nothing",
                      f"/v1/captures/{capture_id}/views/thread", f"/v1/captures/{capture_id}/progress"):  # fmt: skip
            got, headed = client.get(route), client.head(route)
            assert (headed.status_code, headed.content) == (got.status_code, b""), route
            for name in ("content-type", "etag", "content-disposition"):
                assert headed.headers.get(name) == got.headers.get(name), (route, name)
        assert client.head(f"/v1/captures/{capture_id}/original").headers["content-length"] == str(PIPE.stat().st_size)
    with proxied.client("") as nobody:
        assert nobody.head("/v1/captures").status_code == 401


def test_metrics(proxied: Running, capture_id: str) -> None:
    with proxied.client() as client, proxied.client("") as nobody:
        client.get("/nothing/of/that/name")
        told = client.get("/metrics")
        assert told.headers["content-type"].startswith("text/plain; version=0.0.4")
        figures = dict(line.rsplit(" ", 1) for line in told.text.splitlines() if not line.startswith("#"))
        assert figures['perfcase_captures{state="ready"}'] == "1.0"
        assert float(figures['perfcase_captures_bytes{state="ready"}']) == PIPE.stat().st_size
        assert float(figures['perfcase_http_requests_total{method="POST",route="/v1/captures",status="201"}']) == 1
        assert float(figures['perfcase_http_requests_total{method="GET",route="-",status="404"}']) >= 1
        assert float(figures["perfcase_store_free_bytes"]) > 0
        assert float(figures["perfcase_analyses_running"]) == 0
        assert float(figures["process_resident_memory_bytes"]) > 0
        assert capture_id not in told.text
        assert nobody.get("/metrics").status_code == 401
        with proxied.client(token(client, "viewer", "OPS-")["secret"]) as scoped:
            assert scoped.get("/metrics").status_code == 403


def lines(file: Path) -> list[dict]:
    """The lines of an access log; each is written when its answer was sent."""
    end = time.monotonic() + 20
    while time.monotonic() < end and not (file.exists() and file.stat().st_size):
        time.sleep(0.02)
    time.sleep(0.1)
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_the_access_log(proxied: Running) -> None:
    """A line for each request; it may be moved away under the server."""
    file = proxied.store.parent / "access.log"
    with proxied.client() as client:
        client.get("/v1/captures", params={"text": "secret-word"}, headers=FORWARDED)
        last = lines(file)[-1]
        assert {name: last[name] for name in ("address", "who", "method", "path", "status")} == {
            "address": "203.0.113.7", "who": "first admin", "method": "GET", "path": "/v1/captures", "status": 200,
        }  # fmt: skip
        assert last["sent_bytes"] > 0
        file.rename(file.with_suffix(".1"))
        client.get("/v1/me")
        assert [line["path"] for line in lines(file)] == ["/v1/me"]
    for name in (".log", ".1"):
        text = file.with_suffix(name).read_text()
        assert proxied.token not in text
        assert "secret-word" not in text


def test_the_audit_log_is_kept_short(tmp_path: Path) -> None:
    """What is older goes to a file of its month, once and whole."""
    catalogue = Catalogue(tmp_path / "catalogue.sqlite3")
    day = 86_400 * 10**9
    for number in range(60):
        catalogue.write("INSERT INTO audit VALUES (?, ?, 'w', 'a', 'POST /x', '', 201)", (number + 1, number * day))
    assert rotate(catalogue, tmp_path / "audit", 40 * day) == 40
    assert rotate(catalogue, tmp_path / "audit", 40 * day) == 0
    kept = {file.name: file.read_text().splitlines() for file in (tmp_path / "audit").iterdir()}
    assert {name: len(lines) for name, lines in kept.items()} == {"1970-01.jsonl": 31, "1970-02.jsonl": 9}
    assert json.loads(kept["1970-01.jsonl"][0]) == {
        "audit_id": 1, "at_ns": 0, "who": "w", "address": "a", "action": "POST /x", "subject": "", "status": 201,
    }  # fmt: skip
    catalogue.close()
    with sqlite3.connect(tmp_path / "catalogue.sqlite3") as db:
        assert db.execute("SELECT count(*), min(audit_id) FROM audit").fetchone() == (20, 41)
