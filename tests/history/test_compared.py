"""The figures that a folder keeps for the search for bands are those of its views, whatever the folder keeps."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from perfcase.case import query
from perfcase.catalogue.views import load_views
from perfcase.fleet import compared
from perfcase.fleet.compared import Figures
from tests.support.imports import SAMPLES, imported

VIEWS = [view for view in load_views().values() if view.diff]
FILE = "*-compared-figures.parquet"


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """An import that keeps nothing."""
    folder = tmp_path / "x.case"
    shutil.copytree(
        imported(SAMPLES / "d-nagle" / "tcp.perfcase").folder, folder, ignore=shutil.ignore_patterns("kept")
    )
    return folder


def found(case: Path, views: list = VIEWS) -> set[tuple]:
    """All figures of a folder that ``Figures`` has, twice the same: of two captures."""
    with Figures(views) as figures:
        figures.add(0, case)
        figures.add(1, case)
        every = {}
        for figure, values in figures.often(2):
            view, key, measure, by_capture = figures.of(figure)
            assert sorted(values) == sorted(by_capture.values())
            assert len({same(value) for value in values}) == 1
            every[view.name, key, measure] = same(by_capture[0])
    return {*every.items()}


def same(value: float) -> str:
    """A figure without its last digits: they depend on the order in which threads add."""
    return f"{value:.9g}"


def write(path: Path, sql: str) -> None:
    """Writes Parquet of this SQL."""
    with duckdb.connect() as connection:
        connection.sql(sql).write_parquet(str(path))


def worked_out(case: Path, views: list = VIEWS) -> set[tuple]:
    """What the views themselves say."""
    with query.connect(case) as connection:
        return {
            ((view, key, measure), same(value)) for view, key, measure, value in compared.work_out(connection, views)
        }


def test_the_same_kept_or_not(case: Path) -> None:
    (case / "kept").symlink_to("nowhere")
    asked = found(case)
    assert len(asked) > 200
    assert {name for (name, _, _), _ in asked} > {"thread_time", "syscall_summary", "tcp_stalls"}
    (case / "kept").unlink()
    assert found(case) == asked
    (file,) = (case / "kept").glob(FILE)
    written = file.stat().st_mtime_ns
    # What is kept is read: the database is not opened.
    (case / "case.duckdb").unlink()
    assert found(case) == asked
    assert file.stat().st_mtime_ns == written


def test_a_part_of_the_views(case: Path) -> None:
    few = [view for view in VIEWS if view.name in ("thread_time", "tcp_stalls")]
    alone = found(case, few)
    assert not [*(case / "kept").glob(FILE)]
    assert {name for (name, _, _), _ in alone} == {"thread_time", "tcp_stalls"}
    assert (
        alone == {each for each in found(case) if each[0][0] in ("thread_time", "tcp_stalls")} == worked_out(case, few)
    )


@pytest.mark.parametrize(
    "harm",
    [
        lambda path: path.write_bytes(b"PAR1" + bytes(100) + b"PAR1"),
        lambda path: path.write_bytes(path.read_bytes()[:-100]),
        lambda path: write(path, "SELECT 1 AS view, 2 AS other"),
        lambda path: write(path, "SELECT 'a' AS view, 'b' AS key, 'c' AS measure, 'many' AS value"),
    ],
    ids=["no Parquet", "cut off", "other columns", "other types"],
)  # fmt: skip
def test_a_damaged_file_is_made_again(case: Path, harm: Callable[[Path], object]) -> None:
    asked = found(case)
    (file,) = (case / "kept").glob(FILE)
    harm(file)
    assert found(case) == asked


def test_figures_that_no_view_has(case: Path) -> None:
    asked = found(case)
    (file,) = (case / "kept").glob(FILE)
    write(Path(f"{file}.new"), f"FROM '{file}' UNION ALL SELECT 'thread_time', ['x'], 'invented', 1")
    Path(f"{file}.new").replace(file)
    assert found(case) == asked
