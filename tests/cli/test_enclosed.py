"""A capture is read in a process that can do nothing else; what ends that process is a message, and leaves nothing half done."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perfcase.case import enclosed, facts, store
from perfcase.errors import EXIT_CODES
from tests.support.cli import PERFCASE

ROOT = Path(__file__).parents[2]
CAPTURE = ROOT / "sample-captures" / "d-nagle" / "pipe.perfcase"
# The core is replaced by one that a capture took over: it runs a statement. The child is a copy of this process.
TAKEN_OVER = """
import ctypes, os, signal, sys, time, types
from pathlib import Path
import perfcase
from perfcase.case import sandbox, store
from perfcase.cli.main import run
real, statement = store.import_core(), sys.argv[2]
secret = Path(sys.argv[1]).parent / "secret"
def import_capture(file, folder, given, progress):
    folder = Path(folder)
    exec(statement)
    return real.import_capture(file, str(folder), given, progress)
class Core(types.ModuleType):
    def __getattr__(self, name):
        return getattr(real, name)
core = Core("perfcase._core")
core.import_capture = import_capture
sys.modules["perfcase._core"] = perfcase._core = core
sys.exit(run(["import", "--tables-only", sys.argv[1]]))
"""


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    folder = tmp_path / "captures"
    folder.mkdir()
    (folder / "secret").write_text("of somebody else")
    return Path(shutil.copy(CAPTURE, folder / "x.perfcase"))


def taken_over(capture: Path, statement: str, before: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", before + TAKEN_OVER, capture, statement]
    environment = {**os.environ, "TMPDIR": str(capture.parent.parent), "LD_PRELOAD": ""}
    environment.pop("PERFCASE_DEBUG", None)
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=60)


def is_clean(capture: Path) -> bool:
    """Whether nothing is left of an import that failed."""
    left = {path.name for path in capture.parent.iterdir()} | {path.name for path in capture.parent.parent.iterdir()}
    return left == {"x.perfcase", "secret", "captures"}


@pytest.mark.parametrize(
    "statement",
    [
        "secret.read_text()",
        "os.listdir(secret.parent.parent.parent)",
        "open(file, 'r+b')",
        "os.unlink(file)",
        "(secret.parent / 'new').touch()",
        "open('/etc/passwd')",
        "os.utime(secret, (1, 1))",
        "os.chmod(secret, 0o666)",
        "os.truncate(secret, 0)",
        "os.rename(secret, secret.parent / 'moved')",
        "os.link(secret, secret.parent / 'linked')",
        "os.symlink('/etc', secret.parent / 'led')",
        "time.clock_settime(time.CLOCK_REALTIME, 0)",
        "os.nice(5)",
        "open(f'/proc/{os.getppid()}/environ')",
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
        "import subprocess; subprocess.run(['/bin/true'])",
        "os.fork()",
        "os.kill(os.getppid(), signal.SIGKILL)",
    ],
)
def test_the_process_that_reads_has_the_capture_and_its_folder(capture: Path, statement: str) -> None:
    refused = f"try:\n    {statement}\nexcept PermissionError:\n    pass\nelse:\n    os._exit(9)"
    done = taken_over(capture, refused)
    assert (done.returncode, done.stderr) == (0, ""), statement
    assert "imported in" in done.stdout


FACTS = vars(facts.Facts(capture_id="x"))
RESULT = {"capture_id": "x", "capture": FACTS, "tables": {"t": 1}, "issues": [], "other_columns": {}}


def says_result(**lie: object) -> str:
    """Give the statement of a process that says this of its import."""
    return f"os.write(1, {json.dumps({'result': RESULT | lie}).encode()!r} + b'\\n'); time.sleep(60)"


def test_a_result_without_a_lie_is_one() -> None:
    assert enclosed._is_summary(RESULT)


@pytest.mark.parametrize(
    ("statement", "kind", "said"),
    [
        ("ctypes.string_at(0)", "internal", "its process crashed (SIGSEGV)"),
        ("signal.raise_signal(signal.SIGKILL)", "environment", "ran out of memory"),
        ("signal.raise_signal(signal.SIGBUS)", "environment", "could not be read to its end"),
        ("signal.raise_signal(signal.SIGXCPU)", "environment", "more CPU time than is allowed"),
        ("os.abort()", "internal", "its process crashed (SIGABRT)"),
        ("os.write(2, b'a\\nmemory allocation of 9 bytes failed\\n'); os.abort()", "environment", "not enough memory"),
        ("raise MemoryError", "environment", "not enough memory"),
        ("os._exit(3)", "internal", "its process ended with exit code 3"),
        ("os.close(1); os._exit(0)", "internal", "its process ended with exit code 0"),
        ("class Panic(BaseException): pass\nraise Panic('at its end')", "internal", "Panic: at its end"),
        ("os.write(1, b'no json\\n'); time.sleep(60)", "internal", "said what none says"),
        ("os.write(1, b'[' * 100000 + b'\\n'); time.sleep(60)", "internal", "said what none says"),
        ("os.write(1, b'{\"result\": {}}\\n'); time.sleep(60)", "internal", "said what none says"),
        ("os.write(1, b'{\"now\": [1]}\\n'); time.sleep(60)", "internal", "said what none says"),
        ("os.write(1, b'{\"error\": [1, 2, 3]}\\n'); time.sleep(60)", "internal", "said what none says"),
        ("(folder / 'case.duckdb.partial').symlink_to(secret)", "internal", "which is neither file nor folder"),
        (
            "(folder / 'kept').mkdir(); (folder / 'kept' / 'x').symlink_to('/')",
            "internal",
            "which is neither file nor folder",
        ),
        (says_result(other_columns={"t": [["a", "INTEGER AS x; COPY y TO z"]]}), "internal", "said what none says"),
        (says_result(capture=FACTS | {"host": 1}), "internal", "said what none says"),
        (says_result(capture=None), "internal", "said what none says"),
        (says_result(tables={"../t": 1}), "internal", "said what none says"),
    ],
)
def test_what_ends_the_process_is_a_message(capture: Path, statement: str, kind: str, said: str) -> None:
    began = time.monotonic()
    done = taken_over(capture, statement)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (EXIT_CODES[kind], "", 1), done.stderr
    assert said in done.stderr
    assert "x." in done.stderr, "it names the file"
    assert is_clean(capture)
    assert (capture.parent / "secret").read_text() == "of somebody else"
    assert time.monotonic() - began < 50


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("from perfcase.case import sandbox\nsandbox._abi = lambda: -1\n", "no Landlock here"),
        ("from perfcase.case import seccomp\nseccomp.refuse = lambda: False\n", "no seccomp here"),
    ],
)
def test_where_the_kernel_cannot_it_goes_on_and_says_so(capture: Path, before: str, said: str) -> None:
    done = taken_over(capture, "pass", before)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(said) == 1


def test_a_copy_and_a_new_process_import_the_same(capture: Path, tmp_path: Path) -> None:
    """A process with threads is not copied."""
    command = [PERFCASE, "import", "--tables-only", capture, "-o", tmp_path / "copy.case"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    ours = store.open_case(capture, tmp_path / "new.case").info
    theirs = store.read_info(tmp_path / "copy.case")
    for name in ("tables", "files", "other_columns", "issues", "source", "generated"):
        assert ours[name] == theirs[name], name
    assert "unenclosed" not in ours


def at_work(capture: Path) -> tuple[subprocess.Popen, int]:
    """An import, stopped while its child reads, and the child."""
    parent = subprocess.Popen([PERFCASE, "import", capture], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
    end = time.monotonic() + 30
    while time.monotonic() < end:
        for child in map(int, children.read_text().split()):
            if Path(f"/proc/{child}/comm").read_text() == "perfcase-import\n":
                os.kill(child, signal.SIGSTOP)
                return parent, child
        time.sleep(0.001)
    raise AssertionError("no child")


def is_gone(process: int) -> bool:
    end = time.monotonic() + 10
    while Path(f"/proc/{process}").exists() and time.monotonic() < end:
        time.sleep(0.01)
    return not Path(f"/proc/{process}").exists()


@pytest.mark.parametrize(
    ("number", "of_child", "code", "said"),
    [
        (signal.SIGINT, False, 130, b""),
        (signal.SIGKILL, False, -9, b""),
        (signal.SIGTERM, False, -15, b""),
        (signal.SIGKILL, True, 8, b"ran out of memory"),
        (signal.SIGSEGV, True, 1, b"crashed (SIGSEGV)"),
    ],
)
def test_signals_end_both(capture: Path, number: int, of_child: bool, code: int, said: bytes) -> None:
    parent, child = at_work(capture)
    os.kill(child if of_child else parent.pid, number)
    if of_child:
        os.kill(child, signal.SIGCONT)
    error = parent.communicate(timeout=30)[1]
    assert (parent.returncode, said in error) == (code, True), error
    assert is_gone(child)
    if number in (signal.SIGKILL, signal.SIGTERM) and not of_child:
        # The next import removes what is left.
        assert (
            subprocess.run([PERFCASE, "import", "--tables-only", capture], capture_output=True, check=False).returncode
            == 0
        )
        assert {path.name for path in capture.parent.iterdir()} == {"x.perfcase", "secret", "x.case"}
    else:
        assert is_clean(capture)


def test_what_a_killed_import_decompressed_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    left, young = tmp_path / "perfcase-import-left", tmp_path / "perfcase-import-young"
    for folder in (left, young):
        folder.mkdir()
    os.utime(left, (1, 1))
    with enclosed._scratch() as (used, _):
        assert used is not None
        os.utime(used, (1, 1))
        with enclosed._scratch() as (other, _):
            assert {*tmp_path.iterdir()} == {young, used, other}
    assert {*tmp_path.iterdir()} == {young}
