"""One imported capture, and its exports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from perfcase.case import query
from tests.support.cli import perfcase

EVENT = "cpu-clock/freq=99/"


@pytest.fixture(scope="session")
def case(sample: Callable[[str], Path]) -> Path:
    return sample("x86_64-scheduling/x")


@pytest.fixture
def connection(case: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with query.connect(case) as opened:
        yield opened


@pytest.fixture(scope="session")
def exported(case: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """``exported("pprof")``: the file of this format."""
    folder = tmp_path_factory.mktemp("exported")

    def get(target: str) -> Path:
        path = folder / f"x.{target}"
        if not path.exists():
            done = perfcase("export", case, "--to", target, "-o", path)
            assert (done.returncode, done.stdout) == (0, "")
            assert all(line.startswith(f"perfcase: not in the {target} export: ") for line in done.stderr.splitlines())
            assert "samples of other events (5) than cpu-clock/freq=99/: --event chooses" in done.stderr
        return path

    return get


def paths(connection: duckdb.DuckDBPyConnection, weight: str = "sum(coalesce(period, 1))") -> Counter[tuple[str, ...]]:
    """Thread's name and callchain, root first, and their weight: from the views."""
    rows = connection.execute(
        f"SELECT coalesce(n.comm, t.comm, '[unknown]'), coalesce(f.labels, [l.label]), {weight} FROM sample AS s"
        " JOIN perf_event AS v USING (event_id) LEFT JOIN thread AS t USING (utid) LEFT JOIN thread_name AS n ON n.name_id = s.name_id"
        " LEFT JOIN stack_folded AS f ON f.stack_id = s.stack_id LEFT JOIN frame_label AS l ON l.frame_id = s.frame_id"
        " WHERE v.name = ? GROUP BY 1, 2",
        [EVENT],
    ).fetchall()
    return Counter({(comm, *labels): total for comm, labels, total in rows})


def functions(connection: duckdb.DuckDBPyConnection, kind: str) -> dict[str, tuple[int, int | None]]:
    """Self and total of each name, in periods or samples ("count"), from function_profile.

    Two functions of one name (a system call's in libc and in the kernel) may be in one callchain, so that their totals do not
    add up to the name's: total is None.
    """
    rows = connection.execute(
        f"SELECT symbol, sum(self_{kind}), sum(total_{kind}), count(*) FROM function_profile WHERE event = ? GROUP BY 1",
        [EVENT],
    ).fetchall()
    return {name: (int(self), int(total) if number == 1 else None) for name, self, total, number in rows}


def assert_same_functions(ours: dict[str, tuple[int, int]], views: dict[str, tuple[int, int | None]]) -> None:
    """All names have the same self, and those that are of one function the same total."""
    assert len(views) > 500
    assert sum(total is None for _, total in views.values()) < 10
    known = {n: (own, None if views.get(n, (0, 0))[1] is None else total) for n, (own, total) in ours.items()}
    assert known == views
