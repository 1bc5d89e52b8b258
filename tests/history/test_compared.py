"""The figures that a folder keeps for the search for bands are those of its views, whatever the folder keeps."""

from __future__ import annotations

import shutil
import struct
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
NONE = "SELECT 'a' AS view, ['b'] AS key, 'c' AS measure, 1.0 AS value"
FILE = "*-compared-figures.parquet"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An import that keeps its figures."""
    folder = tmp_path_factory.mktemp("kept") / "x.case"
    shutil.copytree(
        imported(SAMPLES / "d-nagle" / "tcp.perfcase").folder, folder, ignore=shutil.ignore_patterns("kept")
    )
    with query.connect(folder) as connection:
        compared.work_out(connection)
    return folder


@pytest.fixture(scope="module")
def asked(kept: Path) -> set[tuple]:
    """All its figures."""
    return found(kept)


@pytest.fixture
def case(kept: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(kept, tmp_path / "x.case"))


def file_of(case: Path) -> Path:
    """What an import keeps."""
    (file,) = (case / "kept").glob(FILE)
    return file


def found(case: Path, views: list = VIEWS) -> set[tuple]:
    """All figures of a folder that ``Figures`` has, twice the same: of two captures."""
    with Figures(views) as figures:
        read = set(figures.add_kept([case] * 2))
        for number in {0, 1} - read:
            figures.add(number, case)
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


def test_the_same_kept_or_not(case: Path, asked: set[tuple]) -> None:
    assert len(asked) > 200
    assert {name for (name, _, _), _ in asked} > {"thread_time", "syscall_summary", "tcp_stalls"}
    shutil.rmtree(case / "kept")
    (case / "kept").symlink_to("nowhere")
    assert found(case) == asked
    (case / "kept").unlink()
    assert found(case) == asked
    file = file_of(case)
    written = file.stat().st_mtime_ns
    # What is kept is read: the database is not opened.
    (case / "case.duckdb").unlink()
    assert found(case) == asked
    assert file.stat().st_mtime_ns == written


def test_a_part_of_the_views(case: Path, asked: set[tuple]) -> None:
    shutil.rmtree(case / "kept")
    few = [view for view in VIEWS if view.name in ("thread_time", "tcp_stalls")]
    alone = found(case, few)
    assert not [*(case / "kept").glob(FILE)]
    assert {name for (name, _, _), _ in alone} == {"thread_time", "tcp_stalls"}
    assert alone == {each for each in asked if each[0][0] in ("thread_time", "tcp_stalls")} == worked_out(case, few)


@pytest.mark.parametrize(
    "harm",
    [
        lambda path: path.write_bytes(b"PAR1" + bytes(100) + b"PAR1"),
        lambda path: path.write_bytes(path.read_bytes()[:-100]),
        lambda path: write(path, "SELECT 1 AS view, 2 AS other"),
        lambda path: write(path, "SELECT 'a' AS view, 'b' AS key, 'c' AS measure, 'many' AS value"),
        lambda path: write(path, NONE),
        lambda path: write(path, f"FROM ({NONE}) LIMIT 0"),
    ],
    ids=["no Parquet", "cut off", "other columns", "other types", "no known figure", "no rows"],
)  # fmt: skip
def test_a_damaged_file_is_made_again(case: Path, asked: set[tuple], harm: Callable[[Path], object]) -> None:
    harm(file_of(case))
    assert found(case) == asked


def test_figures_that_no_view_has(case: Path, asked: set[tuple]) -> None:
    file = file_of(case)
    write(Path(f"{file}.new"), f"FROM '{file}' UNION ALL SELECT 'thread_time', ['x'], 'invented', 1")
    Path(f"{file}.new").replace(file)
    assert found(case) == asked


def test_a_damaged_file_among_many(case: Path, asked: set[tuple], tmp_path: Path) -> None:
    """It alone is not read of its file."""
    folders = [case, tmp_path / "harmed.case", tmp_path / "none.case", case]
    shutil.copytree(case, folders[1], copy_function=shutil.copy2)
    file_of(folders[1]).write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    with Figures(VIEWS) as figures:
        read = set(figures.add_kept(folders))
        assert 1 not in read
        assert 2 not in read
        for number in {0, 1, 3} - read:
            figures.add(number, folders[number])
        assert {len(values) for _, values in figures.often(1)} == {3}
        assert len([*figures.often(3)]) == len(asked)


def test_a_file_of_other_types_among_many(case: Path, asked: set[tuple], tmp_path: Path) -> None:
    """It stands first: DuckDB gives all files of a statement the types of the first one."""
    folders = [tmp_path / "other.case", case]
    shutil.copytree(case, folders[0], copy_function=shutil.copy2)
    file = file_of(folders[0])
    write(Path(f"{file}.new"), f"SELECT view, key, measure, value::FLOAT AS value FROM '{file}'")
    Path(f"{file}.new").replace(file)
    with Figures(VIEWS) as figures:
        read = set(figures.add_kept(folders))
        for number in {0, 1} - read:
            figures.add(number, folders[number])
        second = {figure: values[1] for figure, values in figures.often(2)}
    with Figures(VIEWS) as figures:
        figures.add(0, case)
        alone = {figure: values[0] for figure, values in figures.often(1)}
    assert any(value != struct.unpack("f", struct.pack("f", value))[0] for value in alone.values())
    assert second == alone
