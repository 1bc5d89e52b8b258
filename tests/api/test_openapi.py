"""The document describes what the server does: requests made from it, sensible and not, never find a fault of the server's."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import httpx

from tests.api.conftest import SAMPLES, start, upload
from tests.support.scale import SCALE, scaled

EXAMPLES = scaled(12)
# Two more phases ask the same routes, whatever the count: by the examples of the document, as test_examples.py does, and by each
# boundary of each parameter, 2,000 requests.
PHASES = "fuzzing,stateful" + (",examples,coverage" if SCALE >= 1 else "")


def test_no_request_finds_a_fault(tmp_path: Path) -> None:
    """schemathesis makes requests up from the document, and follows what their answers offer."""
    running = start(tmp_path / "store", "", "--requests-per-minute", "1000000")
    with running.client() as client:
        capture_id = upload(client, SAMPLES / "d-nagle" / "tcp.perfcase")
    # Requests about a capture that is there; not those that would end the token that asks.
    (tmp_path / "schemathesis.toml").write_text(
        f'[parameters]\n"path.capture_id" = "{capture_id}"\n"query.a" = "{capture_id}"\n"path.name" = "thread"\n'
    )
    done = subprocess.run(
        [Path(sys.executable).with_name("schemathesis"), "run", f"http://127.0.0.1:{running.port}/openapi.json",
         "--header", f"Authorization: Bearer {running.token}", "--checks", "not_a_server_error", "--max-examples", str(EXAMPLES), "--phases", PHASES, "--request-timeout", "120",
         "--exclude-path-regex", "^/v1/(tokens|session)", "--exclude-method", "DELETE", "--seed", "4711", "--generation-database", "none", "--suppress-health-check", "all", "--no-color"],
        capture_output=True, text=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    running.stop()
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-1000:]
    assert "Authentication failed" not in done.stdout


def test_every_route_is_described(admin: httpx.Client) -> None:
    for path, methods in admin.get("/openapi.json").json()["paths"].items():
        for method, operation in methods.items():
            assert operation.get("description"), (method, path)
            assert operation["tags"], (method, path)


def test_every_answer_has_a_shape(admin: httpx.Client) -> None:
    """The shape of what comes, in each form in which it comes; 204 and 303 have no body."""
    lacking, none = [], []
    for path, methods in admin.get("/openapi.json").json()["paths"].items():
        for method, operation in methods.items():
            answers = {status: answer for status, answer in operation["responses"].items() if status[0] in "23"}
            assert answers, (method, path)
            for status, answer in answers.items():
                content = answer.get("content", {})
                lacking += [(method, path, kind) for kind, each in content.items() if not each.get("schema")]
                if not content and status not in ("204", "303"):
                    none.append((method, path))
    assert (lacking, none) == ([], [])


def test_answers_by_column_are_described_where_they_can_be_asked_for(admin: httpx.Client) -> None:
    document = admin.get("/openapi.json").json()
    described, possible = set(), set()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if "format=columns" in json.dumps(operation["responses"].get("200", {})):
                described.add((method, path))
            asked = json.dumps([operation.get("parameters", []), operation.get("requestBody", {})])
            for name in re.findall(r"#/components/schemas/([^\"]+)", asked):
                asked += json.dumps(document["components"]["schemas"][name])
            if '"columns"' in asked:
                possible.add((method, path))
    assert described == possible == {("get", "/v1/captures/{capture_id}/views/{name}")}
