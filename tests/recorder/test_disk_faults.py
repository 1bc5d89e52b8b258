"""A disk that fails at one write of a recorder, and a recorder that is killed at one: a capture, or a folder that --salvage packs.

Nothing is lost in silence: what a capture lacks, it says, or the recorder said it.
"""

from __future__ import annotations

import errno
import hashlib
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from perfcase.case import store
from tests.recorder.support import SHELLS, Capture, command, environment, parse_snapshots, path_without, run
from tests.support.failing import Disk, places, skip_if_unable
from tests.support.scale import scaled

pytestmark = pytest.mark.parametrize("shell", SHELLS)
TRIES = scaled(40, 3)
# Every source is there, at the lowest cost: a try is a recording.
WORDS = ("--symbols", "none", "--stacks", "none", "--interval", "0.1", "--", "sleep", "0.4")
SILENT = {"info"}


@dataclass
class Tried:
    """A recording on such a disk."""

    code: int
    said: str
    left: list[str]
    calls: int
    failed: str


Trying = Callable[..., Tried]


@pytest.fixture
def trying(shell: str, tmp_path: Path) -> Trying:
    folder = tmp_path / "disk"
    folder.mkdir()
    disk = Disk(folder, tmp_path / "counters")
    quick = {"PATH": path_without("perf", "trace-cmd"), "PERFCASE_NO_TRACE_CMD": "1"}

    def record(at: int = 0, error: int = errno.EIO, *, length: int = 1) -> Tried:
        assert not list(folder.iterdir())
        disk.fail(at, error, length=length)
        words = [*disk.before, *command(shell, "-q", "-o", folder / "x.perfcase", *WORDS)]
        done = subprocess.run(words, env=environment(**quick), capture_output=True, text=True, timeout=120, check=False)
        skip_if_unable(done.returncode, done.stderr)
        failed = disk.failed
        left = sorted(path.name for path in folder.iterdir())
        return Tried(done.returncode, done.stderr, left, disk.calls, failed)

    return record


def statuses(capture: Capture) -> dict[str, str]:
    return {source["name"]: source["status"] for source in capture.manifest["sources"]}


def check_members(capture: Capture) -> None:
    """What is in the archive is what the manifest lists. A recorder that was killed early has no reasons yet for what is missing."""
    listed = {member["path"]: member for member in capture.manifest["members"]}
    assert sorted(listed) == sorted(set(capture.names) - {"manifest.json"})
    for path, member in listed.items():
        assert member["sha256"] == hashlib.sha256(capture.stored[path]).hexdigest(), path
        assert member["size_bytes"] == len(capture.content(path.removesuffix(".gz"))), path


def kept(capture: Capture) -> set[str]:
    """The members that every such recording has: no names of CPUs or events."""
    return {path for path in capture.paths() if not path.startswith(("ftrace/raw/", "recorder/"))}


def issues(capture: Path, folder: Path) -> list[tuple[str, str]]:
    case = store.open_case(capture, folder / "x.case", force=True)
    with duckdb.connect(str(case.folder / "case.duckdb"), read_only=True) as connection:
        rows = connection.execute("SELECT severity, kind FROM import_issue").fetchall()
    return [row for row in rows if row[0] not in SILENT]


def is_salvaged(shell: str, disk: Path) -> bool:
    """Whether the folder became a capture; a recorder that was killed before it recorded left nothing in it."""
    end = time.monotonic() + 10
    while "still at work" in (done := run(shell, "--salvage", disk / "x.perfcase.recording")).stderr:
        assert time.monotonic() < end
        time.sleep(0.1)
    if done.returncode:
        assert "holds nothing" in done.stderr or "is not the folder of a recording" in done.stderr, done.stderr
        assert not list((disk / "x.perfcase.recording").rglob("snapshots"))
        shutil.rmtree(disk / "x.perfcase.recording")
        return False
    return True


def test_a_failing_disk(shell: str, trying: Trying, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    out = disk / "x.perfcase"
    whole = trying()
    assert (whole.code, whole.said, whole.left) == (0, "", ["x.perfcase"])
    assert whole.calls > 200
    expected, usual = Capture.read(out), set(issues(out, tmp_path))
    out.unlink()
    codes = set()
    for number, at in enumerate(places(whole.calls, TRIES)):
        # Once, as a bad sector does, or from then on, as a full disk.
        error, length = ((errno.EIO, 1), (errno.ENOSPC, 1 << 40))[number % 2]
        done = trying(at, error, length=length)
        codes.add(done.code)
        what = (at, done.failed, done.said)
        if done.code == 0:
            assert done.left == ["x.perfcase"], what
            capture = Capture.read(out)
            capture.check()
            lacks = {name for name, status in statuses(expected).items() if statuses(capture).get(name) != status}
            if not lacks and not done.said and done.failed:
                # So nothing is missing: it was written elsewhere, or was none of the capture's.
                assert kept(capture) >= kept(expected), what
                assert all(snapshot.is_complete for snapshot in parse_snapshots(capture.content("proc/snapshots"))), (
                    what
                )
                assert set(issues(out, tmp_path)) <= usual, what
            out.unlink()
            continue
        assert done.said.strip(), what
        if done.left == ["x.perfcase.recording"]:
            assert f"what was recorded is in the folder {out}.recording" in done.said, what
            if is_salvaged(shell, disk):
                check_members(Capture.read(out))
                issues(out, tmp_path)
                out.unlink()
        else:
            assert done.left == [], what
    assert len(codes) > 1


def test_killed_at_a_write(shell: str, trying: Trying, tmp_path: Path) -> None:
    """The recorder's own process: while it begins, records, collects, compresses and packs."""
    disk = tmp_path / "disk"
    out = disk / "x.perfcase"
    calls = trying().calls
    out.unlink()
    made = []
    for at in places(calls, TRIES):
        done = trying(at, 0)
        what = (at, done.failed, done.said)
        if done.code == 0:  # it had fewer
            out.unlink()
            continue
        assert done.code == -signal.SIGKILL, what
        if done.left == ["x.perfcase", "x.perfcase.recording"]:
            # It has its name: the folder was about to go.
            check_members(Capture.read(out))
            out.unlink()
            shutil.rmtree(f"{out}.recording")
            continue
        if not done.left:
            continue
        assert done.left in (["x.perfcase.recording"], ["x.perfcase"]), what
        if done.left == ["x.perfcase"] or is_salvaged(shell, disk):
            capture = Capture.read(out)
            check_members(capture)
            made.append(at)
            found = issues(out, tmp_path)
            if capture.manifest["recorder"]["stopped_by"] == "unfinished":
                assert ("warning", "unfinished") in found, what
            out.unlink()
    assert made


def test_a_salvage_that_is_killed_or_fails_is_done_once_more(shell: str, trying: Trying, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    out = disk / "x.perfcase"
    calls = trying().calls
    out.unlink()
    for at in places(calls, 40):
        if (
            trying(at, 0).left == ["x.perfcase.recording"]
            and (disk / "x.perfcase.recording" / "proc" / "snapshots").exists()
        ):
            break
        for path in disk.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    end = time.monotonic() + 10
    inner = Disk(disk, tmp_path / "inner")
    words = [*inner.before, *command(shell, "--salvage", f"{out}.recording")]
    for number in range(1, scaled(60, 4)):
        inner.fail(number * number, (0, errno.ENOSPC, errno.EIO)[number % 3])
        while True:
            done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=60, check=False)
            if "still at work" not in done.stderr or time.monotonic() > end:
                break
            time.sleep(0.1)
        if done.returncode == 0:
            break
        assert (disk / "x.perfcase.recording").is_dir(), (number, inner.failed, done.stderr)
    if not out.exists():
        assert is_salvaged(shell, disk)
    check_members(Capture.read(out))
