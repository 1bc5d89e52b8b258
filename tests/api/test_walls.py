"""What a process of an analysis or of an import could do if a hostile capture took it over: nothing beyond its own folder."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from perfcase.case import sandbox
from perfcase.operations import view
from perfcase_api import serving
from perfcase_api.asking import Question
from perfcase_api.errors import ApiError
from perfcase_api.imports import Imports
from perfcase_api.jobs import Jobs
from perfcase_api.nursery import Nursery
from perfcase_api.settings import Limits, Settings
from tests.api.conftest import SAMPLES, Running, upload
from tests.api.stores import store_with

READY = 'mkdir "$folder/case"'
DONE = json.dumps(
    {
        "capture": {"host": "h", "kernel": None, "started_ns": 1, "duration_ns": 1, "remark": "", "ticket": ""},
        "labels": [],
        "findings": [],
        "figures": {},
        "answers": [],
    }
)
LIMITS = {"memory_bytes": 2 << 30, "cpu_seconds": 60, "file_bytes": 1 << 20}
ENCLOSED = """
import json, sys
from pathlib import Path
from perfcase_api import import_worker
file, folder, statement = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[4]
import_worker.enclose(file, folder, json.loads(sys.argv[3]))
try:
    exec(statement)
    print("done")
except Exception as error:
    print(type(error).__name__)
"""


def enclosed(folder: Path, statement: str) -> str:
    """What becomes of a statement in the process of an import."""
    (folder / "importing").mkdir()
    (folder / "original").write_bytes(b"the capture")
    (folder / "secret").write_text("of somebody else")
    arguments = [folder / "original", folder / "importing", json.dumps(LIMITS), statement.replace("{}", str(folder))]
    command = [sys.executable, "-P", "-c", ENCLOSED, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=sandbox.environment(), cwd=folder, timeout=60
    )
    return done.stdout.strip() or f"{done.returncode} {done.stderr[-500:]}"


@pytest.mark.parametrize(
    ("statement", "outcome"),
    [
        ("assert file.read_bytes() == b'the capture'", "done"),
        ("(folder / 'case').mkdir(); (folder / 'case' / 'x').write_text('x')", "done"),
        ("import tempfile; tempfile.TemporaryFile().write(b'x')", "done"),
        ("file.write_bytes(b'')", "PermissionError"),
        ("file.unlink()", "PermissionError"),
        ("file.rename(folder / 'x')", "PermissionError"),
        ("open('{}/secret').read()", "PermissionError"),
        ("import os; os.listdir('{}')", "PermissionError"),
        ("open('{}/new', 'w')", "PermissionError"),
        ("open('/etc/passwd').read()", "PermissionError"),
        ("import os; open(f'/proc/{os.getppid()}/environ').read()", "PermissionError"),
        ("from pathlib import Path; (Path.home() / '.cache' / 'perfcase' / 'x').write_text('')", "PermissionError"),
        ("import os; os.symlink('{}/secret', folder / 'x'); open(folder / 'x').read()", "PermissionError"),
        ("import os; os.link('{}/secret', folder / 'x')", "OSError"),
        ("import socket; socket.create_connection(('127.0.0.1', 9))", "PermissionError"),
        ("import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)", "PermissionError"),
        ("import subprocess; subprocess.run(['/bin/true'])", "PermissionError"),
        ("import os; os.fork()", "PermissionError"),
        ("import os, signal; os.kill(os.getppid(), signal.SIGKILL)", "PermissionError"),
        ("import os; (folder / 'x').touch(); os.chmod(folder / 'x', 0o4755)", "PermissionError"),
        ("import os; (folder / 'x').touch(); os.setxattr(folder / 'x', 'user.x', b'')", "PermissionError"),
        ("import resource; assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] <= 16384", "done"),
        ("import signal; signal.raise_signal(signal.SIGABRT)", "-6 "),
        ("(folder / 'x').write_bytes(b'x' * (2 << 20))", "OSError"),
        ("bytearray(4 << 30)", "MemoryError"),
    ],
)
def test_an_import_has_its_folder_and_nothing_else(tmp_path: Path, statement: str, outcome: str) -> None:
    assert enclosed(tmp_path, statement) == outcome


def test_an_import_gets_none_of_the_servers_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERFCASE_TOKEN", "secret")
    assert "secret" not in sandbox.environment().values()


@pytest.mark.parametrize(
    ("abi", "has_filter", "missing"),
    [(0, True, ["no Landlock"]), (2, True, ["does not refuse to cut files"]), (3, True, []), (6, False, ["no seccomp filter"])],
)  # fmt: skip
def test_a_wall_that_is_missing_is_said_at_the_start(
    abi: int, has_filter: bool, missing: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "_abi", lambda: abi)
    monkeypatch.setattr("perfcase.case.seccomp.is_there", lambda: has_filter)
    monkeypatch.setattr("uvicorn.Server.run", lambda *_: None)
    said: list[str] = []
    serving.serve(Settings(tmp_path, port=0, is_open=True), said.append)
    warnings = [line for line in said if line.startswith("warning: ")]
    assert len(warnings) == len(missing)
    assert all(words in line for words, line in zip(missing, warnings, strict=True))


def test_an_analysis_reads_its_captures_only(server: Running, admin: httpx.Client, tcp: str, tmp_path: Path) -> None:
    """The kernel says so: this process is told to read the other capture, and nothing in perfcase keeps it from that."""
    other = upload(admin, SAMPLES / "d-nagle" / "pipe.perfcase")
    captures = server.store / "captures"

    async def ask(asked: str, readable: str) -> bytes:
        jobs = Jobs(1, Limits(), Nursery(captures), tmp_path / "scratch")
        try:
            question = Question(view.Request(name="thread", fmt="csv"), [asked])
            async with jobs.answer("key", question.order(), [captures / readable / "case"]) as job:
                return b"".join([chunk async for chunk in job.output()])
        finally:
            await jobs.close()

    assert len(asyncio.run(ask(tcp, tcp)).splitlines()) > 2
    with pytest.raises(ApiError):
        asyncio.run(ask(other, tcp))


@pytest.mark.parametrize(
    "said",
    [
        "echo '[1]'",
        "echo 'not json'",
        'echo \'{"phase": [], "records": "x"}\'',
        "echo '{\"capture\": 1}'",
        "head -c 9000000 /dev/zero | tr '\\0' ' '",
        f"{READY}; echo '{DONE}'",
        f"{READY}; ln -s /etc \"$folder/case/tables\"; echo '{DONE}'",
        f"ln -s /etc \"$folder/case\"; echo '{DONE}'",
        f"{READY}; echo '{DONE.replace('null', '{}', 1)}'",
        "kill -9 $$",
    ],
)
def test_what_a_process_says_that_was_taken_over(tmp_path: Path, said: str) -> None:
    """Its own import fails or is what it says; the next is made all the same."""
    script = f"[ -e {tmp_path}/second ] && {READY} && echo '{DONE}' && exit\n{said}\n"
    settings, catalogue, uploads, nursery = store_with("ab", tmp_path, script)

    async def run() -> list[str]:
        imports = Imports(settings, catalogue, uploads, nursery)
        imports.start()
        first = [state async for state in imports.follow("a")][-1]
        (tmp_path / "second").touch()
        imports.add("b")
        for _ in range(200):
            if (second := imports.state("b"))["state"] == "ready":
                break
            catalogue.write("UPDATE capture SET state = 'uploaded' WHERE state = 'failed' AND capture_id = 'b'")
            await asyncio.sleep(0.05)
        await imports.close()
        return [first["state"], second["state"]]

    is_good = said == f"{READY}; echo '{DONE}'"
    assert asyncio.run(run()) == ["ready" if is_good else "failed", "ready"]
    assert not (uploads.captures / "a" / "case").is_symlink()
