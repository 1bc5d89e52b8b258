"""``--reads`` says how many bytes of the tables a query read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.cli import perfcase, process
from tests.support.imports import SAMPLES, imported

UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}


@pytest.fixture(scope="module")
def case() -> Path:
    return imported(SAMPLES / "x86_64-scheduling" / "x.perfcase").folder


def read(case: Path, *words: str) -> float:
    """What is said, in bytes."""
    done = process(*words, "--reads")
    assert done.returncode == 0, done.stderr
    said = re.search(r": read (\S+) (\S+) of (\S+) (\S+) in (\d+) tables", done.stderr)
    assert said, done.stderr
    tables = [path.stat().st_size for path in (case / "tables").iterdir()]
    assert float(said[3]) * UNITS[said[4]] == pytest.approx(sum(tables), rel=0.01)
    assert int(said[5]) == len(tables)
    return float(said[1]) * UNITS[said[2]]


def test_all_of_a_table_is_its_file(case: Path, tmp_path: Path) -> None:
    size = (case / "tables" / "thread_state.parquet").stat().st_size
    for fmt in ("csv", "parquet"):
        found = read(case, "sql", str(case), "FROM thread_state", f"--format={fmt}", f"--output={tmp_path}/x")
        # The end of the file, 16 KiB, says where the columns lie, and is read besides them.
        assert 0.9 * size < found <= size + (20 << 10)
    assert read(case, "view", "thread_state", str(case), "--format=csv") == found


def test_a_column_is_a_part_of_it(case: Path) -> None:
    whole = read(case, "sql", str(case), "SELECT sum(hash(t)) FROM thread_state AS t")
    assert 0 < read(case, "sql", str(case), "SELECT sum(ts_ns) FROM thread_state") < whole / 2


def test_an_answer_of_several_queries_is_not_counted(case: Path) -> None:
    for words in (("view", "finding"), ("sql", "SELECT count(*) FROM thread_state")):
        done = perfcase(words[0], *((words[1], case) if words[0] == "view" else (case, words[1])), "--reads")
        assert done.stderr.splitlines()[-1].endswith(": DuckDB did not count what it read")


def test_nothing_is_said_unasked(case: Path) -> None:
    assert "read" not in perfcase("sql", case, "FROM capture").stderr
