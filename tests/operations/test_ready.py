"""A database that is open before it is needed answers as each import's own, behind the same locks."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from perfcase.case import database, query
from perfcase.case.opening import open_capture
from perfcase.operations import reading
from tests.support.fakecase import make_case

SETTINGS = (
    "threads", "memory_limit", "max_temp_directory_size", "enable_external_access",
    "lock_configuration", "disabled_optimizers", "enable_progress_bar", "access_mode",
)  # fmt: skip


@pytest.fixture
def cases(tmp_path: Path) -> list[Path]:
    """Two captures whose thread runs 1 and 2 seconds."""
    return [
        make_case(
            tmp_path / f"{number}.case",
            {
                "capture": [{"capture_id": str(number), "duration_ns": 10**9}],
                "thread": [{"utid": 1, "tid": 7, "comm": "java"}],
                "source": [{"source_id": 0, "name": "ftrace", "is_timeline": True}],
                "thread_state": [
                    {"utid": 1, "ts_ns": 0, "duration_ns": number * 10**9, "state": "running", "is_open": False}
                ],
            },
        )
        for number in (1, 2)
    ]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The databases that are opened, with one that is ready."""
    monkeypatch.setattr(query, "_ready", query._Ready())
    query.make_ready(database.template())
    paths: list[str] = []
    connect = duckdb.connect
    monkeypatch.setattr(duckdb, "connect", lambda path="", **more: paths.append(path) or connect(path, **more))
    return paths


def value(case: Path) -> float | None:
    (found,) = reading.run(reading.Request(view="thread_time", measure="on_cpu_ns"), [case]).readings
    return found and found.value


def test_the_first_folder_has_it_and_others_their_own(cases: list[Path], opened: list[str]) -> None:
    assert [value(case) for case in (cases[0], cases[1], cases[0])] == [1e9, 2e9, 1e9]
    assert opened == [str(cases[1] / "case.duckdb")]


def test_it_is_locked_as_another_and_reads_one_folder(cases: list[Path], opened: list[str]) -> None:
    # Each has a folder of its own for what does not fit in memory.
    allowed = "list_filter(current_setting('allowed_directories'), lambda place: NOT contains(place, '/spill/'))"
    asked = f"SELECT {allowed}, {', '.join(f'current_setting({name!r})' for name in SETTINGS)}"
    with open_capture(cases[0]) as ready, query.connect(cases[0]) as own:
        assert opened == [str(cases[0] / "case.duckdb")]
        ours, theirs = (connection.execute(asked).fetchall() for connection in (ready.connection, own))
        assert ours == theirs
        for path in (cases[1] / "tables" / "thread.parquet", Path("/etc/passwd")):
            with pytest.raises(duckdb.PermissionException):
                ready.connection.execute("SELECT * FROM read_text($1)", [str(path)])
        assert query.whole(ready.connection) == query.whole(own) == cases[0]


def test_an_import_with_other_events_has_its_own(cases: list[Path], opened: list[str]) -> None:
    database.write(cases[0], {"my_event": [("ts_ns", "BIGINT")]})
    info = cases[0] / "import.json"
    text = info.read_text().replace('"other_columns": {}', '"other_columns": {"my_event": [["ts_ns", "BIGINT"]]}')
    info.write_text(text)
    opened.clear()
    with open_capture(cases[0]) as capture:
        views = capture.connection.execute(
            "SELECT view_name FROM duckdb_views() WHERE view_name = 'my_event'"
        ).fetchall()
        assert views == [("my_event",)]
    assert str(cases[0] / "case.duckdb") in opened
