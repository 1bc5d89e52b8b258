"""Every route is described whole: each parameter in words, each body and answer by an example that is of its shape.

``pytest --bless tests/api/test_examples.py`` writes the examples again, as the server answers now.
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

from tests.api.conftest import SAMPLES, Running, wait_ready

COUNTS_CAPTURES = True

FILE = Path(str(files("perfcase_api").joinpath("examples.json")))
TCP = SAMPLES / "d-nagle" / "tcp.perfcase"
SAMPLED = SAMPLES.parent / "tests" / "compat" / "v1.1" / "command.perfcase"
SHOWN = 160
"""Characters of a text."""
SQL = {"sql": "SELECT comm, on_cpu_ns FROM thread_time ORDER BY 2 DESC LIMIT 2", "ticket": "OPS-1"}
SECRET = "pc_the-secret-that-is-told-this-once"


def asked(client: httpx.Client) -> dict[str, dict[str, Any]]:
    """Every route that answers with a body, asked once: the request's body and the answer."""
    made: dict[str, dict[str, Any]] = {}

    def ask(route: str, where: str, body: object = None, *, content: bytes = b"", shown: str = "", **more: Any) -> Any:
        method, _, path = route.partition(" ")
        answer = client.request(method, where or path, json=body, content=content or None, **more)
        assert answer.status_code < 300, (route, answer.text[:300])
        kind = answer.headers["content-type"]
        told = answer.json() if kind == "application/json" else answer.text if kind.startswith("text/") else shown
        made[route] = {"response": told}
        if body is not None or content:
            made[route]["request"] = body if body is not None else "the bytes of incident.perfcase"
        return told

    data = TCP.read_bytes()
    half = len(data) // 2
    new = ask("POST /v1/uploads", "", {"name": "incident.perfcase", "size_bytes": len(data), "ticket": "OPS-1"})
    upload = f"/v1/uploads/{new['upload_id']}"
    step = "PATCH /v1/uploads/{upload_id}"
    client.patch(upload, content=data[:half], headers={"Upload-Offset": "0"})
    ask("GET /v1/uploads/{upload_id}", upload)
    ask(step, upload, content=data[half:], headers={"Upload-Offset": str(half)})
    capture = f"/v1/captures/{made[step]['response']['capture_id']}"
    ask("GET /v1/captures/{capture_id}/progress", f"{capture}/progress")
    sampled = ask(
        "POST /v1/captures", "/v1/captures?name=incident.perfcase&ticket=OPS-2", content=SAMPLED.read_bytes()
    )["capture_id"]
    wait_ready(client, sampled)
    failed = client.post("/v1/captures?name=notes.txt", content=b"no capture").json()["capture_id"]
    client.get(f"/v1/captures/{failed}/progress")
    ask("POST /v1/captures/{capture_id}/import", f"/v1/captures/{failed}/import")
    client.get(f"/v1/captures/{failed}/progress")
    client.delete(f"/v1/captures/{failed}")
    at = "/v1/captures/{capture_id}"
    ask(f"PATCH {at}", capture, {"labels": ["before the update"]})
    note = {
        "text": "the client writes twice and waits",
        "start_ns": 1_000_000_000,
        "end_ns": 2_000_000_000,
        "finding": "delayed_ack",
    }
    ask(f"POST {at}/notes", f"{capture}/notes", note)
    query = {
        "name": "threads by name",
        "sql": "SELECT tid FROM thread WHERE comm = $comm",
        "set": ["comm=java"],
        "chart": "",
    }
    board = {"name": "nightly", "figures": ["view=thread_time&measure=switch_count"]}
    for kind, body in (("query", query), ("board", board)):
        kinds = {"query": "queries", "board": "boards"}[kind]
        number = ask(f"POST /v1/{kinds}", "", body)[f"{kind}_id"]
        ask(f"PUT /v1/{kinds}/{{{kind}_id}}", f"/v1/{kinds}/{number}", body)
    ask("GET /v1/boards/{board_id}", f"/v1/boards/{number}")
    for route, more in (
        ("/findings", "?limit=1"), ("/export", "?to=folded"),
        ("/views/{name}", "/views/thread_time?order=on_cpu_ns+DESC&limit=1"),
    ):  # fmt: skip
        ask(f"GET {at}{route}", capture + (more if more.startswith("/") else route + more))
    ask(f"GET {at}/flamegraph", f"{capture}/flamegraph?off_cpu=true", shown="<svg xmlns=…")
    ask(f"GET {at}/annotate", f"/v1/captures/{sampled}/annotate?function=handle_softirqs&limit=1")
    ask(f"GET {at}/original", f"{capture}/original", shown="the bytes of incident.perfcase")
    number = capture.rpartition("/")[2]
    ask("GET /v1/diff", f"/v1/diff?a={number}&a_window=0s..1s&b_window=1s..2s&view=thread_time&limit=1")
    where = f"/v1/diff/flamegraph?a={sampled}&b={sampled}"
    ask("GET /v1/diff/flamegraph", where, shown="<svg xmlns=…")
    ask("GET /v1/history", "/v1/history?view=thread_time&measure=switch_count")
    ask("POST /v1/sql", "", SQL)
    ask("GET /v1/schema/{name}", "/v1/schema/load_average")
    token = ask("POST /v1/tokens", "", {"name": "on call", "role": "viewer", "ticket_prefix": "OPS-"})
    ask("POST /v1/session", "", {"token": token["secret"]})
    # The other routes that read need nothing but the capture: a new one is asked here without a line of its own.
    for path, methods in client.get("/openapi.json").json()["paths"].items():
        route, place = f"GET {path}", path.replace("{capture_id}", number)
        if "get" in methods and route not in made and "{" not in place and "303" not in methods["get"]["responses"]:
            ask(route, place)
    made["POST /v1/tokens"]["response"]["secret"] = made["POST /v1/session"]["request"]["token"] = SECRET
    return made


def short(told: Any) -> Any:
    """As much of an answer as shows its form."""
    if isinstance(told, dict):
        return {key: short(value) for key, value in told.items()}
    if isinstance(told, list):
        return [short(value) for value in told[:1]]
    return told[:SHOWN] + "…" if isinstance(told, str) and len(told) > SHOWN else told


def is_like(one: Any, other: Any) -> bool:
    """Whether two answers have the same form; unknown (null) may stand for anything."""
    if one is None or other is None:
        return True
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_like(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return not one or not other or is_like(one[0], other[0])
    return type(one) is type(other)


@pytest.fixture(scope="module")
def document(server: Running) -> dict[str, Any]:
    with server.client("") as client:
        return client.get("/openapi.json").json()


def operations(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    paths = document["paths"].items()
    return [(f"{method.upper()} {path}", each) for path, methods in paths for method, each in methods.items()]


@pytest.mark.usefixtures("golden")
def test_each_example_is_what_the_server_answers(server: Running, request: pytest.FixtureRequest) -> None:
    with server.client() as client:
        now = {route: short(told) for route, told in asked(client).items()}
    if request.config.getoption("--bless"):
        FILE.write_text(json.dumps(now, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    kept = json.loads(FILE.read_text(encoding="utf-8"))
    assert kept.keys() == now.keys()
    # How many findings of which severity there are is not a form; both captures have both.
    assert [route for route in kept if not is_like(kept[route], now[route])] == []


def test_each_route_has_its_examples(document: dict[str, Any]) -> None:
    lacking = []
    for route, operation in operations(document):
        status, answer = next((s, a) for s, a in operation["responses"].items() if s[0] in "23")
        contents = [] if status in ("204", "303") else [next(iter(answer["content"].values()))]
        if "requestBody" in operation:
            contents += operation["requestBody"]["content"].values()
        for content in contents:
            if "example" not in content:
                lacking.append(route)
            elif "schema" in content:
                schema = {**content["schema"], "components": document["components"]}
                jsonschema.Draft202012Validator(schema).validate(content["example"])
    assert lacking == []


def test_each_parameter_is_described(document: dict[str, Any]) -> None:
    lacking = [
        (route, parameter["name"])
        for route, operation in operations(document)
        for parameter in operation.get("parameters", [])
        if not (parameter.get("description") or parameter["schema"].get("description"))
    ]
    assert lacking == []
    assert [route for route, operation in operations(document) if not operation.get("description")] == []


def test_lists_have_pages_and_tags(server: Running) -> None:
    with server.client() as client:
        for number in range(3):
            client.post("/v1/tokens", json={"name": f"t{number}", "role": "viewer"})
        whole = client.get("/v1/tokens").json()
        assert len(whole) >= 4
        assert client.get("/v1/tokens", params={"limit": 2, "offset": 1}).json() == whole[1:3]
        for route in ("captures", "tokens", "schema", "schema/thread", "me", "sign-in"):
            first = client.get(f"/v1/{route}")
            again = client.get(f"/v1/{route}", headers={"If-None-Match": first.headers["etag"]})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"]), route
            other = client.get(f"/v1/{route}", headers={"If-None-Match": '"other"'})
            assert (other.status_code, other.json()) == (200, first.json()), route
        tag = client.get("/v1/tokens").headers["etag"]
        client.post("/v1/tokens", json={"name": "another", "role": "viewer"})
        assert client.get("/v1/tokens", headers={"If-None-Match": tag}).status_code == 200
        assert "etag" not in client.get("/v1/nothing").headers
