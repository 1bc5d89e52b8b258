"""perfcase symbolize and --debug-dir: names for a capture that has none, from files that the user gives."""

from __future__ import annotations

import csv
import gzip
import io
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import pytest

from perfcase.case import query, store
from tests.support.cli import PERFCASE, fail, perfcase, succeed
from tests.support.scale import SCALE

FIXTURE = Path(__file__).parents[1] / "data" / "symbols" / "cxx.perfcase"
# Only the path could identify objects without a build id, and the directory has none.
FRAMES = (
    "SELECT address, symbol, symbol_offset_bytes, symbol_source FROM frame JOIN dso USING (dso_id) "
    "WHERE dso.build_id IS NOT NULL AND NOT is_kernel ORDER BY ALL"
)
ALL = ["SELECT * FROM frame ORDER BY ALL", "SELECT * FROM stack ORDER BY ALL", "SELECT * FROM dso ORDER BY ALL"]


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """The recording alone, without its symbols; ``dir`` beside it has them, by their build ids."""
    with tarfile.open(FIXTURE) as archive:
        for member in archive.getmembers():
            content = gzip.decompress(archive.extractfile(member).read()) if member.name.endswith(".gz") else b""
            name = member.name.removesuffix(".gz")
            if name == "perf/perf.data":
                (tmp_path / "perf.data").write_bytes(content)
            elif name.startswith("symbols/elf/"):
                build_id = name.rpartition("/")[2]
                place = tmp_path / "dir" / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
    return tmp_path / "perf.data"


def rows(file: Path, *questions: str) -> list[list[tuple]]:
    with query.connect(store.open_case(file).folder) as connection:
        return [connection.execute(question).fetchall() for question in questions]


def test_names_are_those_of_an_import_with_them(bare: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole.perfcase"
    whole.write_bytes(FIXTURE.read_bytes())
    (wanted,) = rows(whole, FRAMES)
    named = [row for row in wanted if row[1] is not None]
    assert len(named) > 5
    (before,) = rows(bare, FRAMES)
    assert all(row[1] is None for row in before)
    done = perfcase("symbolize", str(bare), "--debug-dir", str(tmp_path / "dir"), "--format", "csv")
    assert done.returncode == 0, done.stderr
    objects = list(csv.DictReader(io.StringIO(done.stdout)))
    assert sum(int(row["named_count"]) for row in objects) == len(named)
    assert all(row["named_before_count"] == "0" for row in objects)
    assert all(row["missing_reason"] or row["frame_count"] == row["named_count"] for row in objects)
    assert rows(bare, FRAMES) == [wanted]
    once = rows(bare, *ALL)
    succeed("symbolize", str(bare), "--debug-dir", str(tmp_path / "dir"))
    assert rows(bare, *ALL) == once


def test_every_command_takes_the_directory(bare: Path, tmp_path: Path) -> None:
    (without,) = rows(bare, FRAMES)
    given = ("--debug-dir", str(tmp_path / "dir"))
    done = perfcase("sql", str(bare), "SELECT count(symbol) AS n FROM frame WHERE NOT is_kernel", "-f", "csv", *given)
    assert int(done.stdout.split()[1]) > 5 > sum(row[1] is not None for row in without)
    # What was found once stays, until the import is made again without it.
    assert rows(bare, FRAMES) != [without]
    succeed("import", str(bare), "--force")
    assert rows(bare, FRAMES) == [without]
    case = store.default_folder(bare)
    succeed("report", str(case), *given)
    assert rows(case, FRAMES) != [without]


def test_another_build_and_what_cannot_be_read(bare: Path, tmp_path: Path) -> None:
    build_id = rows(bare, "SELECT build_id FROM dso WHERE name = 'cxx'")[0][0][0]
    place = tmp_path / "dir" / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
    other = next(file for file in (tmp_path / "dir").rglob("*.debug") if file != place)
    place.write_bytes(other.read_bytes())
    done = perfcase("symbolize", str(bare), "--debug-dir", str(tmp_path / "dir"), "--format", "csv")
    row = next(row for row in csv.DictReader(io.StringIO(done.stdout)) if row["build_id"] == build_id)
    assert (row["named_count"], row["missing_reason"]) == ("0", "file not in capture")
    junk = tmp_path / "junk"
    junk.write_text("x")
    for arguments, code in (((), 2), (("--debug-dir", str(junk)), 3), (("--debug-dir", str(tmp_path / "no")), 6)):
        fail(code, "symbolize", bare, *arguments)


def test_a_kill_leaves_the_old_or_the_new(bare: Path, tmp_path: Path) -> None:
    (before,) = rows(bare, FRAMES)
    command = [PERFCASE, "symbolize", str(bare), "--debug-dir", str(tmp_path / "dir")]
    started = time.monotonic()
    assert subprocess.run(command, capture_output=True).returncode == 0
    whole_s = time.monotonic() - started
    (after,) = rows(bare, FRAMES)
    assert before != after
    for step in range(8) if SCALE >= 1 else (1, 4, 7):
        succeed("import", str(bare), "--force", "--tables-only")
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            # The last part of the run is where the tables are written and put in place.
            time.sleep(whole_s * (0.6 + 0.05 * step))
            process.send_signal(signal.SIGKILL)
        assert rows(bare, FRAMES) in ([before], [after])
    succeed("symbolize", str(bare), "--debug-dir", str(tmp_path / "dir"))
    assert rows(bare, FRAMES) == [after]
    assert not list(tmp_path.glob(".*importing*"))
