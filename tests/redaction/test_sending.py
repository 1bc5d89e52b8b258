"""What is said before a capture is sent, and the server that takes only redacted ones."""

from __future__ import annotations

import http.client
import warnings
from pathlib import Path
from typing import Any

import pytest

from perfcase.catalogue.privacy import unredacted
from perfcase.errors import NotRedacted, PerfcaseError
from perfcase.server_client import client as perfcase_client
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


def test_the_client_warns_and_a_server_refuses_before_anything_is_sent(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = folder / "perf.data"
    bare.write_bytes(private_capture.members()["perf/perf.data"][1])
    sent: list[bytes] = []
    opened = perfcase_client.Client.open

    def told(self: perfcase_client.Client, method: str, route: str, **asked: Any) -> Any:
        if method == "PATCH":
            sent.append(asked["data"])
        return opened(self, method, route, **asked)

    monkeypatch.setattr(perfcase_client.Client, "open", told)
    running = start(tmp_path / "store", "", "--only-redacted")
    try:
        client = perfcase_client.Client(f"http://127.0.0.1:{running.port}", running.token)
        for name, said in (
            ("x.perfcase", unredacted("x.perfcase")),
            ("perf.data", unredacted("perf.data")),
        ):
            with pytest.warns(NotRedacted) as warned, pytest.raises(PerfcaseError, match="only captures that are red"):
                client.upload(folder / name)
            assert [str(each.message) for each in warned] == [said]
            assert warned[0].filename == __file__
        assert sent == []
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(PerfcaseError, match="only captures"):
                client.upload(folder / "x.perfcase", warn=False)
            assert client.upload(folder / "out.perfcase")["state"] == "ready"
    finally:
        running.stop()
    assert unredacted("a\nb", ["Host names", "Notes"]) == (
        "a\\nb is not redacted. It holds: Host names; Notes (perfcase redact a\\nb -o OUT replaces them)"
    )


def test_the_server_takes_only_redacted_captures(folder: Path, tmp_path: Path) -> None:
    running = start(tmp_path / "store", "", "--only-redacted")
    try:
        with running.client() as client:
            plain, redacted = ((folder / name).read_bytes() for name in ("x.perfcase", "out.perfcase"))
            for data in (plain, b"PERFILE2" + bytes(200)):
                refused = client.post("/v1/captures", params={"name": "x.perfcase"}, content=data)
                assert refused.status_code == 403
                assert "only captures that are redacted" in refused.json()["error"]["message"]
            # In parts, by a client that has not read the manifest: the part with the manifest is refused.
            size = len(plain) + (8 << 20)
            for part, status in ((plain[:300], 200), (plain[: len(plain) // 2], 403)):
                begun = client.post("/v1/uploads", json={"name": "x.perfcase", "size_bytes": size}).json()
                place = f"/v1/uploads/{begun['upload_id']}"
                sent = client.patch(place, content=part, headers={"Upload-Offset": "0"})
                assert sent.status_code == status, sent.text
                client.delete(place)
            # In one request: the answer comes when a MiB is there, and the sender need not send the rest.
            whole = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60)
            whole.putrequest("POST", "/v1/captures?name=x.perfcase")
            whole.putheader("Authorization", f"Bearer {running.token}")
            whole.putheader("Content-Length", str(size))
            whole.endheaders(plain + bytes(2 << 20))
            assert whole.getresponse().status == 403
            whole.close()
            assert client.get("/v1/captures").json()["captures"] == []
            assert client.post("/v1/captures", params={"name": "y.perfcase"}, content=redacted).status_code < 300
        assert list((tmp_path / "store" / "uploads").iterdir()) == []
    finally:
        running.stop()
