"""A view that fails costs a line of the report, never the report."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from rich.console import Console

from perfcase.report.writer import SECTIONS, write_report
from tests.support.cli import perfcase, succeed

FAILING = (
    "finding",
    "thread_time",
    "syscall_summary",
    "cpu_utilization",
    "function_profile",
    "data_quality",
    "off_wake",
)


def test_each_section_stands_without_its_views(sample: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "x.case"
    shutil.copytree(sample("x86_64-scheduling/x"), folder)
    with duckdb.connect(str(folder / "case.duckdb")) as connection:
        connection.execute("SET VARIABLE case_dir = $1", [str(folder)])
        for view in FAILING:
            columns = [row[0] for row in connection.execute(f"DESCRIBE {view}").fetchall()]
            listed = ", ".join(f"error('too large in {view}') AS \"{name}\"" for name in columns)
            connection.execute(f"CREATE OR REPLACE VIEW {view} AS SELECT {listed} FROM range(1)")
        out = io.StringIO()
        write_report(connection, Console(file=out, width=200), "x.perfcase")
    told = out.getvalue()
    for section in SECTIONS:
        assert section.TITLE in told
    for view in FAILING:
        assert f"too large in {view}" in told or view == "finding"
    # The findings are made of the rules. Those that read what fails are not judged.
    assert "0 fired; not judged: " in told
    assert "cpu_saturation" in told
    assert "perfcase-record --duration 9" in told


@pytest.mark.parametrize("table", ["sample", "thread_state", "syscall", "source", "capture"])
def test_a_table_that_cannot_be_read_costs_what_needs_it(
    table: str, sample: Callable[[str], Path], tmp_path: Path
) -> None:
    """As long as before, and its end is whole: nothing tells but to read it."""
    folder = tmp_path / "x.case"
    shutil.copytree(sample("d-nagle/tcp"), folder)
    path = folder / "tables" / f"{table}.parquet"
    content = path.read_bytes()
    path.write_bytes(b"\xff" * (len(content) - 4) + content[-4:])
    told = succeed("report", folder)
    for section in SECTIONS:
        assert section.TITLE in told
    assert "cannot be worked out" in told
    done = perfcase("findings", folder)
    assert done.returncode == 3
    assert "cannot be worked out" in done.stdout
    assert f"{table}.parquet: cannot be read" in done.stderr
    assert "import the capture again" in done.stderr
