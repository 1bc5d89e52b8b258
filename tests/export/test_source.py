"""What all formats take their samples from."""

from __future__ import annotations

from pathlib import Path

from perfcase.case import query
from perfcase.export.source import Samples, Thread
from tests.support.fakecase import make_case


def test_a_thread_belongs_to_what_its_process_was_called_then(tmp_path: Path) -> None:
    """bash becomes ls at 50; the helper ended before. Nobody knows the name of the other process's main thread."""
    case = make_case(
        tmp_path / "x.case",
        {
            "process": [{"upid": 1, "pid": 100, "name": "ls"}, {"upid": 2, "pid": 200, "name": "server"}],
            "thread": [
                {"utid": 1, "tid": 100, "pid": 100, "upid": 1, "comm": "ls"},
                {"utid": 2, "tid": 101, "pid": 100, "upid": 1, "comm": "helper", "end_ts_ns": 40},
                {"utid": 3, "tid": 200, "pid": 200, "upid": 2},
            ],
            "thread_name": [
                {"name_id": 1, "utid": 1, "ts_ns": 0, "comm": "bash"},
                {"name_id": 2, "utid": 1, "ts_ns": 50, "comm": "ls"},
                {"name_id": 3, "utid": 2, "ts_ns": 0, "comm": "helper"},
            ],
            "perf_event": [{"event_id": 0, "source_id": 0, "name": "cycles"}],
            "sample": [
                {"sample_id": n, "ts_ns": ts, "utid": utid, "name_id": name, "event_id": 0, "stack_id": 0, "period": 1}
                for n, (ts, utid, name) in enumerate([(10, 1, 1), (20, 2, 3), (60, 1, 2), (70, 3, 9)])
            ],
        },
    )
    with query.connect(case) as connection:
        threads = Samples(connection, "x", "cycles", "count").threads
    assert threads == {
        (1, 1): Thread(100, 100, "bash", "bash"),
        (1, 2): Thread(100, 100, "ls", "ls"),
        (2, 3): Thread(101, 100, "helper", "bash"),
        (3, 9): Thread(200, 200, "[unknown]", "server"),
    }
