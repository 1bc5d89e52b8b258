"""Who may do what: tokens, roles, scopes, sessions, rates, what is written down."""

from __future__ import annotations

import re
import sqlite3
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.api.conftest import PERFCASE, Running, start

COUNTS_CAPTURES = True

VIEWER, UPLOADER, ADMIN = 0, 1, 2
ROUTES = [
    ("GET", "/v1/me", VIEWER),
    ("GET", "/v1/captures", VIEWER),
    ("GET", "/v1/captures/{}", VIEWER),
    ("GET", "/v1/captures/{}/original", VIEWER),
    ("GET", "/v1/captures/{}/notes", VIEWER),
    ("GET", "/v1/captures/{}/progress", VIEWER),
    ("GET", "/v1/captures/{}/views/thread?limit=1", VIEWER),
    ("GET", "/v1/captures/{}/findings", VIEWER),
    ("GET", "/v1/captures/{}/info", VIEWER),
    ("GET", "/v1/imports", VIEWER),
    ("GET", "/v1/schema", VIEWER),
    ("GET", "/v1/schema/thread", VIEWER),
    ("POST", "/v1/sql", VIEWER),
    ("PATCH", "/v1/captures/{}", UPLOADER),
    ("POST", "/v1/captures/{}/notes", UPLOADER),
    ("DELETE", "/v1/captures/{}/notes/1", ADMIN),
    ("GET", "/v1/queries", VIEWER),
    ("GET", "/v1/boards", VIEWER),
    ("GET", "/v1/boards/999", VIEWER),
    ("POST", "/v1/queries", UPLOADER),
    ("PUT", "/v1/queries/999", UPLOADER),
    ("DELETE", "/v1/queries/999", UPLOADER),
    ("POST", "/v1/boards", UPLOADER),
    ("PUT", "/v1/boards/999", UPLOADER),
    ("DELETE", "/v1/boards/999", UPLOADER),
    ("POST", "/v1/uploads", UPLOADER),
    ("POST", "/v1/captures?name=x", UPLOADER),
    ("GET", "/v1/tokens", ADMIN),
    ("POST", "/v1/tokens", ADMIN),
    ("DELETE", "/v1/tokens/999", ADMIN),
    ("GET", "/v1/audit", ADMIN),
    ("DELETE", "/v1/captures/{}/import", ADMIN),
    ("DELETE", "/v1/captures/{}", ADMIN),
]
PUBLIC = {"/v1/health": 200, "/v1/sign-in": 200, "/v1/oidc": 404, "/v1/oidc/callback": 404}
"""What needs no token. No identity provider is configured here."""
BODIES = {
    "/v1/sql": {"sql": "SELECT 1", "capture_id": "{}"},
    "/v1/captures/{}": {"labels": []},
    "/v1/captures/{}/notes": {"text": "x"},
    "/v1/queries": {"name": "x", "sql": "SELECT 1"},
    "/v1/queries/999": {"name": "x", "sql": "SELECT 1"},
    "/v1/boards": {"name": "x", "figures": []},
    "/v1/boards/999": {"name": "x", "figures": []},
    "/v1/uploads": {"name": "x", "size_bytes": 1},
    "/v1/captures?name=x": {"x": 1},
    "/v1/tokens": {"name": "x", "role": "viewer"},
}


def token(admin: httpx.Client, role: str, prefix: str = "", **more: object) -> dict:
    made = admin.post("/v1/tokens", json={"name": f"a {role}", "role": role, "ticket_prefix": prefix, **more})
    assert made.status_code == 201, made.text
    return made.json()


def ask(client: httpx.Client, method: str, route: str, capture_id: str) -> int:
    body = {
        key: value.replace("{}", capture_id) if isinstance(value, str) else value
        for key, value in BODIES.get(route, {}).items()
    }
    return client.request(method, route.replace("{}", capture_id), json=body or None).status_code


@pytest.mark.parametrize(("method", "route", "least"), ROUTES)
def test_every_route_asks_who(
    server: Running, admin: httpx.Client, tcp: str, method: str, route: str, least: int
) -> None:
    """Without a token 401, with too small a role 403, with the role anything else, out of scope 404."""
    with server.client("") as nobody, server.client("pc_wrong") as wrong:
        assert ask(nobody, method, route, tcp) == 401
        assert ask(wrong, method, route, tcp) == 401
    for rank, role in enumerate(("viewer", "uploader", "admin")):
        if (method, role) == ("DELETE", "admin"):
            continue
        with server.client(token(admin, role)["secret"]) as client:
            status = ask(client, method, route, tcp)
            assert (status == 403) == (rank < least), (role, status)
            assert rank < least or status < 500
    if "/captures/{}" in route:
        with server.client(token(admin, "uploader", "OTHER-")["secret"]) as client:
            assert ask(client, method, route, tcp) == 404


def test_other_routes_of_a_capture_need_its_scope(server: Running, admin: httpx.Client, tcp: str) -> None:
    """A route that reads a capture and is not listed above: 404 out of scope, and a viewer in scope may ask."""
    listed = {route.partition("?")[0].replace("{}", "{capture_id}") for _, route, _ in ROUTES}
    paths = admin.get("/openapi.json").json()["paths"]
    others = [
        path for path, methods in paths.items() if "{capture_id}" in path and "get" in methods and path not in listed
    ]
    assert "/v1/captures/{capture_id}/report" in others
    with (
        server.client(token(admin, "viewer", "OTHER-")["secret"]) as stranger,
        server.client(token(admin, "viewer", "OPS-")["secret"]) as viewer,
    ):
        for path in others:
            place = path.replace("{capture_id}", tcp).replace("{name}", "thread")
            more = {"export": {"to": "folded"}, "annotate": {"function": "schedule"}}.get(path.rpartition("/")[2], {})
            assert stranger.get(place, params=more).status_code == 404, path
            assert viewer.get(place, params=more).status_code < 400, path


def test_routes_are_all_there(admin: httpx.Client) -> None:
    """A new route must be listed above, or answer nothing without a token."""
    paths = admin.get("/openapi.json").json()["paths"]
    with httpx.Client(base_url=admin.base_url) as nobody:
        for path, methods in paths.items():
            for method in methods:
                filled = re.sub(
                    "{(token|note|query|board)_id}",
                    "1",
                    path.replace("{capture_id}", "0" * 64).replace("{upload_id}", "0" * 32),
                )
                body = {"token": "x"} if path == "/v1/session" else None
                status = nobody.request(method.upper(), filled.replace("{name}", "x"), json=body).status_code
                assert status == PUBLIC.get(path, 401), (method, path, status)


def test_a_scope(server: Running, admin: httpx.Client, tcp: str) -> None:
    with server.client(token(admin, "uploader", "OPS-")["secret"]) as client:
        assert [capture["capture_id"] for capture in client.get("/v1/captures").json()["captures"]] == [tcp]
        assert client.post("/v1/uploads", json={"name": "x", "size_bytes": 1, "ticket": "DEV-1"}).status_code == 403
        assert client.patch(f"/v1/captures/{tcp}", json={"ticket": "DEV-1"}).status_code == 403
        assert client.delete(f"/v1/captures/{tcp}").status_code == 403
    with server.client(token(admin, "viewer", "OPS-1x")["secret"]) as client:
        assert client.get("/v1/captures").json() == {"captures": [], "total": 0}
        assert client.get("/v1/history").status_code == 404
        assert client.post("/v1/sql", json={"sql": "SELECT 1", "ticket": "OPS-1"}).status_code == 404
        assert client.get("/v1/diff", params={"a": tcp, "b": tcp}).status_code == 404
    with server.client(token(admin, "admin", "OPS-")["secret"]) as client:
        assert client.post("/v1/tokens", json={"name": "x", "role": "admin"}).status_code == 403


def test_an_upload_is_its_own(server: Running, admin: httpx.Client) -> None:
    with (
        server.client(token(admin, "uploader")["secret"]) as one,
        server.client(token(admin, "uploader")["secret"]) as two,
    ):
        place = f"/v1/uploads/{one.post('/v1/uploads', json={'name': 'x', 'size_bytes': 1}).json()['upload_id']}"
        assert two.get(place).status_code == 404
        assert two.patch(place, headers={"Upload-Offset": "0"}, content=b"x").status_code == 404
        assert one.delete(place).status_code == 204


def test_sessions(server: Running, admin: httpx.Client) -> None:
    made = token(admin, "viewer")
    with server.client("") as browser:
        assert browser.post("/v1/session", json={"token": "pc_wrong"}).status_code == 401
        signed = browser.post("/v1/session", json={"token": made["secret"]})
        cookie = signed.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert browser.get("/v1/me").json()["name"] == "a viewer"
        crossed = browser.delete("/v1/session", headers={"Sec-Fetch-Site": "cross-site"})
        assert crossed.status_code == 403
        secret = browser.cookies["perfcase_session"]
        assert browser.delete("/v1/session").status_code == 204
        browser.cookies.set("perfcase_session", secret)
        assert browser.get("/v1/me").status_code == 401
        browser.cookies.clear()
        browser.post("/v1/session", json={"token": made["secret"]})
        assert admin.delete(f"/v1/tokens/{made['token_id']}").status_code == 204
        assert browser.get("/v1/me").status_code == 401
    with server.client(made["secret"]) as client:
        assert client.get("/v1/me").status_code == 401
    with server.client(token(admin, "viewer", expires_ns=1)["secret"]) as client:
        assert client.get("/v1/me").status_code == 401


def test_how_to_sign_in_is_told_to_anybody(server: Running) -> None:
    with server.client("") as nobody:
        assert nobody.get("/v1/sign-in").json() == {"is_open": False, "token": True, "oidc": None}


def test_secrets_are_not_kept(server: Running, admin: httpx.Client) -> None:
    secret = token(admin, "viewer")["secret"]
    for path in server.store.glob("catalogue.sqlite3*"):
        assert secret.encode() not in path.read_bytes()
        assert server.token.encode() not in path.read_bytes()
    assert "secret" not in admin.get("/v1/tokens").text


def test_what_is_written_down(admin: httpx.Client, tcp: str) -> None:
    admin.post(f"/v1/captures/{tcp}/notes", json={"text": "x"})
    last = admin.get("/v1/audit").json()[0]
    assert (last["who"], last["action"], last["subject"], last["status"]) == (
        "first admin", "POST /v1/captures/{capture_id}/notes", tcp, 201,
    )  # fmt: skip


def test_headers(server: Running, admin: httpx.Client) -> None:
    for route in ("/v1/health", "/v1/captures", "/nothing"):
        answer = admin.get(route, headers={"Origin": "https://example.org"})
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers


def test_rates(tmp_path: Path) -> None:
    running = start(tmp_path / "store", "", "--requests-per-minute", "20")
    with running.client() as client:
        answers = [client.get("/v1/me") for _ in range(30)]
    refused = [answer for answer in answers if answer.status_code == 429]
    assert 5 <= len(refused) <= 10
    assert int(refused[0].headers["retry-after"]) >= 1
    assert refused[0].json()["error"]["kind"] == "too_many"
    running.stop()


def test_open_is_for_loopback_only(tmp_path: Path) -> None:
    refused = subprocess.run(
        [PERFCASE, "serve", "--store", tmp_path / "store", "--host", "0.0.0.0", "--open"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 2
    assert "anybody could read every capture" in refused.stderr
    running = start(tmp_path / "store", "", "--open")
    with running.client("") as client:
        assert client.get("/v1/me").json()["role"] == "admin"
        assert client.post("/v1/captures", params={"name": "x"}, content=b"no capture").status_code == 201
    running.stop()


def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    with sqlite3.connect(tmp_path / "store" / "catalogue.sqlite3") as db:
        db.execute("PRAGMA user_version = 999")
    refused = subprocess.run(
        [PERFCASE, "serve", "--store", tmp_path / "store"], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 4
    assert "written by a newer perfcase" in refused.stderr
