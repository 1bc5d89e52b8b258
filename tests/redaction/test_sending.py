"""What is said before a capture is sent, and the server that takes only redacted ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.api.conftest import start
from tests.support import private_capture
from tests.support.cli import perfcase


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a capture and the redacted one."""
    made = tmp_path_factory.mktemp("sending")
    private_capture.write(made / "x.perfcase")
    assert perfcase("redact", made / "x.perfcase", "-o", made / "out.perfcase").returncode == 0
    return made


def test_attach_warns(folder: Path) -> None:
    def said(name: str, *more: str) -> str:
        options = ["--tracker", "http://127.0.0.1:9/", "--issue", "1", "--adapter", "webhook", "--dry-run", *more]
        done = perfcase("attach", folder / name, *options)
        assert done.returncode == 0, done.stderr
        return done.stderr

    warned = said("x.perfcase")
    assert "x.perfcase is not redacted. It holds: Host names; Names of control groups" in warned
    assert "perfcase redact" in warned
    assert "db-prod-17" not in warned
    assert "not redacted" not in said("out.perfcase")


def test_the_server_takes_only_redacted_captures(folder: Path, tmp_path: Path) -> None:
    running = start(tmp_path / "store", "", "--only-redacted")
    try:
        with running.client() as client:
            plain, redacted = ((folder / name).read_bytes() for name in ("x.perfcase", "out.perfcase"))
            for data in (plain, b"PERFILE2" + bytes(200)):
                refused = client.post("/v1/captures", params={"name": "x.perfcase"}, content=data)
                assert refused.status_code == 403
                assert "only captures that are redacted" in refused.json()["error"]["message"]
            assert client.get("/v1/captures").json()["captures"] == []
            assert client.post("/v1/captures", params={"name": "y.perfcase"}, content=redacted).status_code < 300
        assert list((tmp_path / "store" / "uploads").iterdir()) == []
    finally:
        running.stop()
