"""perfcase attach against a real Roundup server, from its package, with the tracker template that comes with it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.support.cli import perfcase
from tests.support.imports import SAMPLES, placed

PASSWORD = "a:secret"
START_S = 60


@dataclass
class Running:
    """A tracker, its address and a client of the admin's."""

    url: str
    client: httpx.Client

    def issue(self) -> str:
        """A new issue's number."""
        made = self.client.post("data/issue", json={"title": "slow", "priority": "bug"})
        return made.json()["data"]["id"]

    def of(self, issue: str, what: str) -> list[str]:
        """The numbers of an issue's files or messages."""
        told = self.client.get(f"data/issue/{issue}").json()["data"]["attributes"]
        return [each["id"] for each in told[what]]


@pytest.fixture(scope="module")
def roundup() -> Iterator[Running]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # Not below pytest's folders: the server runs as another user when root starts it, who may not look into those.
    home = Path(tempfile.mkdtemp(prefix="roundup-"))
    scripts = Path(sys.executable).parent
    url = f"http://127.0.0.1:{port}/tracker/"
    options = f"tracker_web={url},mail_domain=example.org,mail_host=localhost,admin_email=admin@example.org"
    for step in (["install", "classic", "sqlite", options], ["initialise", PASSWORD]):
        subprocess.run([scripts / "roundup-admin", "-i", home / "t", *step], check=True, capture_output=True)
    as_user = []
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", "nobody", home], check=True)
        # It may read the modules of a clone that lies where others may not look.
        as_user = [
            "setpriv",
            "--reuid=nobody",
            "--clear-groups",
            "--inh-caps=+dac_read_search",
            "--ambient-caps=+dac_read_search",
        ]
    command = [*as_user, scripts / "roundup-server", "-p", str(port), f"tracker={home / 't'}"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    headers = {"X-Requested-With": "rest", "Origin": f"http://127.0.0.1:{port}", "Referer": url}
    client = httpx.Client(base_url=f"{url}rest/", auth=("admin", PASSWORD), headers=headers, timeout=60)
    end = time.monotonic() + START_S
    while True:
        try:
            client.get("data/issue").raise_for_status()
            break
        except httpx.HTTPError:
            assert server.poll() is None
            assert time.monotonic() < end, "Roundup did not start"
            time.sleep(0.1)
    yield Running(url, client)
    server.terminate()
    server.wait(30)
    client.close()
    # A process that answered a request may still be closing its database, and remove files of it.
    shutil.rmtree(home, ignore_errors=True)


def attach(url: str, issue: str, *more: object, credentials: str = f"admin:{PASSWORD}", file: object):
    """Runs the command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERFCASE_TRACKER_CREDENTIALS", credentials)
        return perfcase("attach", file, "--tracker", url, "--issue", issue, *more)


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture that is imported already, beside its import."""
    return placed(SAMPLES / "d-nagle" / "tcp.perfcase", tmp_path_factory.mktemp("roundup"))


def test_the_capture_and_what_was_found(roundup: Running, case: Path) -> None:
    issue = roundup.issue()
    done = attach(roundup.url, issue, file=case)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{case.name} (1,484,800 bytes) is attached: {roundup.url}issue{issue}\n"
    (file,), (message,) = roundup.of(issue, "files"), roundup.of(issue, "messages")
    content = roundup.client.get(f"data/file/{file}/binary_content")
    assert content.content == case.read_bytes()
    assert roundup.client.get(f"data/file/{file}").json()["data"]["attributes"]["name"] == case.name
    told = roundup.client.get(f"data/msg/{message}").json()["data"]["attributes"]
    assert told["author"]["id"] == "1"
    text = roundup.client.get(f"data/msg/{message}/binary_content").text
    assert text.startswith(
        f"perfcase: {case.name}: 1 finding\n- critical: Answers are as late as a delayed acknowledgement"
    )


def test_the_summary(roundup: Running, case: Path) -> None:
    issue = roundup.issue()
    for form, begins in (("html", b"<!DOCTYPE html>"), ("md", b"# ")):
        assert attach(roundup.url, issue, "--summary", "--to", form, file=case).returncode == 0
        content = roundup.client.get(f"data/file/{roundup.of(issue, 'files')[-1]}/binary_content").content
        assert content.startswith(begins)
        assert b"Answers are as late as a delayed acknowledgement" in content
    assert len(roundup.of(issue, "messages")) == 2


def test_a_dry_run_sends_nothing(roundup: Running, case: Path) -> None:
    issue = roundup.issue()
    done = attach(roundup.url, issue, "--dry-run", file=case)
    lines = done.stdout.splitlines()
    rest = f"{roundup.url}rest/data"
    assert lines[0] == f"GET {rest}/issue/{issue}"
    assert lines[1] == f"POST {rest}/file ({case.name}, 1,484,800 bytes)"
    assert lines[3] == f"PATCH {rest}/issue/{issue} (adds both)"
    assert "- critical: Answers are as late" in done.stdout
    assert PASSWORD not in done.stdout
    assert roundup.of(issue, "files") == roundup.of(issue, "messages") == []


def test_errors_say_what_to_do(roundup: Running, case: Path, tmp_path: Path) -> None:
    issue = roundup.issue()
    readable = tmp_path / "credentials"
    readable.write_text("admin:x")
    readable.chmod(0o644)
    jwt = f"x.{b64encode(json.dumps({'sub': '1'}).encode()).decode().rstrip('=')}.x"
    for url, number, more, credentials, code, told in (
        (roundup.url, "999", (), f"admin:{PASSWORD}", 6, "HTTP 404: no such issue 999"),
        (roundup.url, issue, (), "admin:wrong", 7, "HTTP 401: Unauthorized (set PERFCASE_TRACKER_CREDENTIALS"),
        (roundup.url, issue, (), jwt, 7, "(set PERFCASE_TRACKER_CREDENTIALS"),
        (roundup.url, issue, (), "", 2, "Roundup wants to know who attaches (set PERFCASE_TRACKER_CREDENTIALS"),
        (roundup.url, issue, ("--credentials", readable), "", 7, f"other users of this machine can read it (chmod 600 {readable})"),
        (roundup.url[: -len("tracker/")], issue, (), "a:b", 6, "is it the address of the tracker"),
        ("http://127.0.0.1:1/", issue, (), "a:b", 8, "127.0.0.1:1: [Errno 111] Connection refused"),
        ("http://a:b@127.0.0.1:1/", issue, (), "a:b", 2, "the address holds credentials"),
        ("file:///etc", issue, (), "a:b", 2, "not the address of a server"),
        (roundup.url, "../1", (), "a:b", 2, "../1: not an issue number"),
        (roundup.url, issue, ("--adapter", "jira"), "a:b", 6, "there is no adapter jira (there are: roundup, webhook)"),
    ):  # fmt: skip
        done = attach(url, number, *more, credentials=credentials, file=case)
        assert (done.returncode, told in done.stderr) == (code, True), (url, number, more, done.stderr)
    assert roundup.of(issue, "files") == roundup.of(issue, "messages") == []
    readable.write_text(f"admin:{PASSWORD}\n")
    readable.chmod(0o600)
    assert attach(roundup.url, issue, "--credentials", readable, credentials="", file=case).returncode == 0
