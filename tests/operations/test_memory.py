"""The memory that a question may take: what does not fit goes to files that nobody else can read, and nothing of them stays."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from perfcase.case import budget, query
from perfcase.errors import PerfcaseError
from tests.support.cli import PERFCASE, fail, succeed
from tests.support.imports import SAMPLES, imported

SORTED = (
    "SELECT md5(max(s)) FROM (SELECT repeat(md5(i::VARCHAR), 4) AS s FROM range(3000000) t(i) ORDER BY md5(i::VARCHAR))"
)
"""A sort of 400 MB."""
UNSPLIT = "SELECT len(list(repeat('x', 100) || i)) AS n FROM range(4000000) t(i)"
"""One value that is larger than the memory."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that nothing of this process has open: who opens it then gets the settings of the first."""
    return Path(shutil.copytree(imported(SAMPLES / "d-nagle" / "tcp.perfcase").folder, tmp_path / "a.case"))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("TMPDIR", raising=False)
    return tmp_path / "perfcase" / "spill"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("500M", 500 << 20), ("2G", 2 << 30), ("1gib", 1 << 30), ("200mb", 200 << 20), ("104857600", 100 << 20)],
)
def test_a_size_is(text: str, wanted: int) -> None:
    assert budget.parsed(text) == wanted


@pytest.mark.parametrize("text", ["", "5x", "-1G", "99M", "0", "1e9", "9999999999999999999T", "999999999T", "١G"])
def test_no_size_is(text: str) -> None:
    with pytest.raises(PerfcaseError, match="not a size of memory"):
        budget.parsed(text)


def test_a_machine_of_many_cpus_takes_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(budget.MEMORY, raising=False)
    assert [budget.memory_bytes(threads) >> 20 for threads in (1, 4, 8, 64)] == [343, 343, 599, 4183]
    monkeypatch.setenv(budget.MEMORY, "2G")
    assert budget.memory_bytes(64) == 2 << 30


def test_what_does_not_fit_goes_to_files_of_the_users_own(
    folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(budget.MEMORY, "250M")
    with query.connect(folder) as connection:
        connection.execute(f"CREATE TEMP TABLE held AS {SORTED[SORTED.index('SELECT repeat') : -1]}")
        written = connection.execute("SELECT sum(size) > 50000000 FROM duckdb_temporary_files()").fetchone()
        assert written == (True,)
        assert stat.S_IMODE(cache.stat().st_mode) == 0o700
        assert [path.name.split("-")[0] for path in cache.iterdir()] == [str(os.getpid())]
    assert [*cache.iterdir()] == []


def test_what_a_killed_process_left_is_removed(folder: Path, cache: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True
    )
    for pid in (int(done.stdout), os.getpid()):
        (cache / f"{pid}-0123").mkdir(parents=True)
        (cache / f"{pid}-0123" / "duckdb_temp_storage-0.tmp").touch()
    query.connect(folder).close()
    assert [path.name for path in cache.iterdir()] == [f"{os.getpid()}-0123"]


def test_a_link_in_place_of_the_folder_is_not_followed(folder: Path, cache: Path, tmp_path: Path) -> None:
    cache.parent.mkdir()
    (tmp_path / "elsewhere").mkdir()
    cache.symlink_to(tmp_path / "elsewhere")
    with query.connect(folder) as connection:
        assert connection.execute("SELECT current_setting('temp_directory')").fetchone() == ("",)


def test_a_folder_that_others_could_read_is_closed_to_them(folder: Path, cache: Path) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o755)
    query.connect(folder).close()
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700


def test_where_there_is_no_place_a_small_question_is_answered(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "file"))
    with query.connect(folder) as connection:
        assert connection.execute("SELECT count(*) > 0 FROM thread").fetchone() == (True,)


def test_a_question_that_cannot_be_answered_in_parts_says_what_to_do(folder: Path, cache: Path) -> None:
    told = fail(8, "sql", "--memory", "100M", folder, UNSPLIT)
    assert told == (
        "the question needs more memory than it may take (ask for less, such as --only window=10s..20s, or give it more: --memory 2G)"
    )
    assert succeed("sql", "--memory", "2G", folder, UNSPLIT, "-f", "csv") == "n\n4000000\n"


def test_a_reader_that_goes_away_leaves_nothing(folder: Path, cache: Path) -> None:
    command = [PERFCASE, "sql", "--memory", "100M", "--limit", "0", "-f", "csv", folder, "SELECT * FROM range(9000000)"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.read(1000)
        child.stdout.close()
    assert [*cache.iterdir()] == []


@pytest.mark.parametrize("size", ["5x", "50M"])
def test_a_size_that_is_none_is_a_wrong_command_line(folder: Path, size: str) -> None:
    assert "not a size of memory" in fail(2, "view", "--memory", size, "capture", folder)
