"""A disk that is full: the import says so, keeps nothing half done, and is made again when there is room."""

from __future__ import annotations

import bz2
import os
import resource
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import duckdb
import pytest

from perfcase.case import database, place, store
from perfcase.catalogue.views import load_views
from tests.recorder.support import in_own_mounts
from tests.support.cli import PERFCASE, process
from tests.support.scale import SCALE

ROOT = Path(__file__).parents[2]
CAPTURE = ROOT / "sample-captures" / "x86_64-scheduling" / "x.perfcase"
FAULT = 8


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    folder = tmp_path / "captures"
    folder.mkdir()
    return Path(shutil.copy(CAPTURE, folder / "x.perfcase"))


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def import_within(capture: Path, file_bytes: int) -> subprocess.CompletedProcess[str]:
    """An import that may write no file larger than this: to a process that is what a full disk is, for root as well."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))

    command = [PERFCASE, "import", capture]
    return subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, check=False)


def test_without_room_for_what_the_capture_decompresses_to_nothing_is_imported(capture: Path) -> None:
    done = process("import", capture, TMPDIR="/nowhere")
    assert (done.returncode, done.stdout) == (FAULT, "")
    assert done.stderr.count("\n") == 1
    assert "captures are decompressed into /nowhere: free space there, or point TMPDIR to" in done.stderr
    assert listing(capture.parent) == ["x.perfcase"]
    done = process("import", "--tables-only", capture)
    assert (done.returncode, done.stderr) == (0, "")
    assert "imported in" in done.stdout


def test_without_room_for_what_an_archive_of_debug_files_decompresses_to(capture: Path, tmp_path: Path) -> None:
    """Unlike an archive that holds none, which is the input's fault."""
    assert process("import", "--tables-only", capture).returncode == 0
    archive = tmp_path / "debug.tar.bz2"
    with tarfile.open(archive, "w:bz2") as tar:
        tar.add(sys.executable, "python")
    for command in ("symbolize", "import"):
        done = process(command, capture, "--debug-dir", archive, TMPDIR="/nowhere")
        assert (done.returncode, done.stderr.count("\n")) == (FAULT, 1), done.stderr
        assert "is there space in TMPDIR" in done.stderr
    archive.write_bytes(bz2.compress(b"no archive"))
    done = process("symbolize", capture, "--debug-dir", archive)
    assert done.returncode == 3, done.stderr


def test_an_import_is_whole_or_not_there_wherever_the_disk_is_full(capture: Path) -> None:
    database.template()  # made ahead: it is not the import's
    whole = store.open_case(capture)
    target, tables = whole.folder, whole.info["tables"]
    codes = []
    places = (1 << 12, 1 << 15, 1 << 17, 1 << 20, 3 << 20, 1 << 23, 1 << 30)
    # Each is an import in a process of its own, most of a second of CPU time.
    for file_bytes in places if SCALE >= 1 else places[::2]:
        shutil.rmtree(target, ignore_errors=True)
        done = import_within(capture, file_bytes)
        codes.append(done.returncode)
        if done.returncode == 0:
            assert store.read_info(target)["tables"] == tables
            assert store.read_info(target)["issues"] == whole.info["issues"]
            continue
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (FAULT, "", 1), done.stderr
        assert "space" in done.stderr
        assert listing(capture.parent) == ["x.perfcase"]
    assert (codes[0], codes[-1]) == (FAULT, 0)


def test_a_cache_that_is_full_keeps_nothing_half(capture: Path, tmp_path: Path) -> None:
    """The template of case.duckdb has room in it, that of a part of a capture and others have not."""
    cache, found = tmp_path / "cache", tmp_path / "found"
    cache.mkdir()
    found.mkdir()
    ask = ("view", "thread_time", capture, "--only", "window=0s..1s", "--format", "csv")
    script = 'mount -t tmpfs -o size=8m tmpfs "$1" || exit 99; cache=$1 found=$2; shift 2; "$@" && cp "$cache"/perfcase/*.duckdb "$found"'
    done = in_own_mounts(script, cache, found, PERFCASE, *ask, timeout=120, XDG_CACHE_HOME=str(cache))
    assert done.returncode == 0, done.stderr
    assert process(*ask).stdout == done.stdout
    (kept,) = found.iterdir()
    assert kept.stem.endswith(f"-{kept.stat().st_size}")
    with duckdb.connect(str(kept), read_only=True) as database:
        names = {name for (name,) in database.execute("SELECT view_name FROM duckdb_views()").fetchall()}
    assert names >= set(load_views())


def test_an_import_is_on_the_disk_before_it_has_its_name(capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: set[str] = set()
    fsync, put_in_place = os.fsync, place.put_in_place

    def note(handle: int) -> None:
        synced.add(str(Path(f"/proc/self/fd/{handle}").readlink()))
        fsync(handle)

    def check(working: Path, target: Path) -> None:
        made = [working, *working.rglob("*")]
        assert {str(path) for path in made} <= synced
        put_in_place(working, target)
        assert str(target.parent) in synced

    monkeypatch.setattr(os, "fsync", note)
    monkeypatch.setattr(place, "put_in_place", check)
    assert not store.open_case(capture).reused
