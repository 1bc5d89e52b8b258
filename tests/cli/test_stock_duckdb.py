"""An imported folder is for anyone: the stock duckdb, old or new, opens case.duckdb from anywhere, also after a move.

Every view is asked of the old one in the long tier, which takes a minute of CPU time, most of it for the rules in one plan. ``make test``
describes every view, for which the old one has to know its words, functions and types, and asks each fifth.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from perfcase.case import query, store
from perfcase.case.kept import have_findings
from perfcase.catalogue.schema import quote
from perfcase.catalogue.views import load_views
from tests.support.scale import SCALE

ROOT = Path(__file__).parents[2]
LTS = ROOT / "build" / "duckdb-lts"

# A script without perfcase: only duckdb.
STRANGER = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1], read_only=True)
# After 2 s, as of all rules in one plan, it would go to standard output.
connection.execute("SET enable_progress_bar = false")
views = [row[0] for row in connection.execute(
    "SELECT view_name FROM duckdb_views() WHERE NOT internal AND schema_name = 'main' ORDER BY 1").fetchall()]
print(duckdb.__version__)
for view in [view for view in views if view in sys.argv[2:]] or views:
    print(view, connection.execute(f'SELECT count(*) FROM "{view}"').fetchone()[0])
for view in views:
    assert connection.execute(f'DESCRIBE "{view}"').fetchall()
print(*views)
"""


FEW = ("sched_switch", "thread_time", "view_coverage")


@pytest.fixture(scope="session")
def lts() -> Path:
    """The oldest DuckDB that we promise, installed by exact version and hash."""
    wanted = (ROOT / "tests" / "requirements-duckdb-lts.txt").read_text()
    stamp = LTS / "requirements.txt"
    if not stamp.is_file() or stamp.read_text() != wanted:
        shutil.rmtree(LTS, ignore_errors=True)
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes",
             "--target", LTS, "-r", ROOT / "tests" / "requirements-duckdb-lts.txt"],
            check=True,
        )  # fmt: skip
        stamp.write_text(wanted)
    return LTS


def ask(database: Path, cwd: Path, *views: str, **environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", STRANGER, database, *views],
        cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def asked_of_old(tables: Collection[str]) -> list[str]:
    """The views that the old DuckDB is asked for; none: all of them."""
    return [] if SCALE >= 1 else [*tables, *FEW, *sorted(load_views().keys() - {"finding", "finding_coverage"})[::5]]


def test_stock_duckdb_old_and_new_from_anywhere(recorded: Callable[[str], Path], lts: Path, tmp_path: Path) -> None:
    case = store.open_case(recorded("aarch64/offcpu.data"))
    moved = tmp_path / "somewhere else's" / "case"
    moved.parent.mkdir()
    shutil.move(case.folder, moved)
    # Each view finds the tables by the same means.
    new = ask(moved / "case.duckdb", tmp_path, *FEW)
    relative = ask(Path("case.duckdb"), moved, *FEW)
    *old, described = ask(moved / "case.duckdb", Path("/"), *asked_of_old(case.info["tables"]), PYTHONPATH=str(lts))
    assert new[0].startswith("2.")
    assert old[0].startswith("1.4.")
    # The new one, as perfcase opens it: that takes half as long.
    with query.connect(moved) as connection:
        have_findings(connection)  # a rule at a time, as the commands do: all in one plan take much memory
        views = sorted(line.rsplit(" ", 1)[0] for line in old[1:])
        ours = [f"{view} {connection.execute(f'SELECT count(*) FROM {quote(view)}').fetchone()[0]}" for view in views]
    assert sorted(old[1:]) == ours
    assert new[1:-1] == [line for line in ours if line.split()[0] in FEW]
    assert relative == new
    counts = dict(line.rsplit(" ", 1) for line in ours)
    assert {name: int(counts[name]) for name in case.info["tables"]} == case.info["tables"]
    every = case.info["tables"].keys() | load_views().keys() | {"column_values", "table_rows"}
    assert set(described.split()) == every
    assert SCALE < 1 or counts.keys() == every
    assert len(counts) > len(case.info["tables"]) + 20
    assert {"finding", "finding_coverage"} <= every
