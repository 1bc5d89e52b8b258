"""The recorder in one file, offered to hosts that are to be recorded: to anyone, whole, with its checksum."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest

from perfcase_api.app import create_app
from perfcase_api.routes import recorder
from perfcase_api.settings import Settings
from tests.api.conftest import ROOT, Running
from tests.recorder.packages import built

NAMES = ("perfcase-record", "perfcase-record.sha256")


def test_the_recorder_is_downloaded_and_checked(server: Running, tmp_path: Path) -> None:
    with server.client("") as nobody:
        for name in NAMES:
            expected = (built() / name).read_bytes()
            got = nobody.get(f"/recorder/{name}")
            assert (got.status_code, got.content) == (200, expected)
            assert got.headers["content-type"] == "application/octet-stream"
            assert got.headers["content-disposition"] == f'attachment; filename="{name}"'
            assert got.headers["cache-control"] == "no-cache"
            head = nobody.head(f"/recorder/{name}")
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers["content-length"] == str(len(expected))
            (tmp_path / name).write_bytes(got.content)
        for name in (".lock", "perfcase-recorder_0_amd64.deb"):
            assert nobody.get(f"/recorder/{name}").status_code == 404
    subprocess.run(["sha256sum", "--check", "--quiet", "perfcase-record.sha256"], cwd=tmp_path, check=True)
    told = subprocess.run(["sh", tmp_path / "perfcase-record", "--version"], capture_output=True, text=True, check=True)
    assert told.stdout.startswith("perfcase-record ")


def test_the_recorder_comes_through_a_pipe(server: Running) -> None:
    url = f"http://127.0.0.1:{server.port}/recorder/perfcase-record"
    with httpx.stream("GET", url) as download, subprocess.Popen(
        ["sh", "-s", "--", "--version"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as shell:  # fmt: skip
        assert shell.stdin
        assert shell.stdout
        for part in download.iter_bytes():
            shell.stdin.write(part)
        shell.stdin.close()
        assert shell.stdout.read().startswith(b"perfcase-record ")
        assert shell.wait(20) == 0


@pytest.mark.parametrize("is_changed", [False, True], ids=["ours", "changed"])
@pytest.mark.parametrize("which", ["kept", "piped"])
def test_what_the_readme_says_to_type(server: Running, which: str, is_changed: bool, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("no curl here")
    blocks = re.findall(r"\n\n((?:    .*\n)+)", (ROOT / "recorder" / "README.md").read_text())
    (block,) = [each for each in blocks if "curl" in each and ("$SUM" in each) == (which == "piped")]
    told = [
        ("https://perfcase.example.org", f"http://127.0.0.1:{server.port}"),
        ("sudo sh", "sh"),
        ("--duration 30 -o incident.perfcase", "--version"),
    ]
    for given, here in told:
        assert given in block
        block = block.replace(given, here)
    checksum = (built() / "perfcase-record.sha256").read_text().split()[0]
    if is_changed:
        checksum = checksum[::-1]
        block = block.replace(
            "sha256sum -c", f"echo '{checksum}  perfcase-record' >perfcase-record.sha256; sha256sum -c"
        )
    done = subprocess.run(
        ["sh", "-c", block],
        cwd=tmp_path,
        env={**os.environ, "SUM": checksum},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ("archive format" in done.stdout) != is_changed, done.stderr
    assert (done.returncode != 0) == is_changed


@pytest.mark.parametrize("name", NAMES)
def test_a_recorder_that_was_not_built_says_what_to_do(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "FOLDER", tmp_path / "nowhere")
    app = create_app(Settings(store=tmp_path / "store", is_open=True))

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            return await client.get(f"/recorder/{name}")

    told = asyncio.run(ask())
    assert told.status_code == 404
    assert told.json()["error"]["message"] == "this server has no recorder to offer"
    assert "make recorder" in told.json()["error"]["hint"]
