"""What a history, a scan or a diff says in rows becomes a table as it is."""

from __future__ import annotations

import pytest

from perfcase.case.rows import table_of
from perfcase.fleet.bands import Split
from perfcase.fleet.captures import Capture
from perfcase.fleet.metric import Reading
from perfcase.fleet.timeline import Answer, as_table

COLUMNS = {"name": "VARCHAR", "count": "BIGINT", "value": "DOUBLE", "is_new": "BOOLEAN", "hosts": "VARCHAR[]"}


def test_values_of_every_type() -> None:
    rows = [
        ("it's\n", -(1 << 63), 1, None, ["a", "b"]),
        (None, (1 << 63) - 1, 0.1, True, []),
        ("größer", None, None, False, None),
    ]
    with table_of("made", COLUMNS, rows) as connection:
        assert connection.execute("FROM made").fetchall() == rows
        described = {row[0]: row[1] for row in connection.execute("DESCRIBE made").fetchall()}
    assert described == COLUMNS


def test_no_rows() -> None:
    with table_of("made", COLUMNS, []) as connection:
        assert connection.execute("SELECT count(*) FROM made").fetchall() == [(0,)]


def test_bands_are_looked_for_once(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not for each of a thousand captures."""
    captures = [
        Capture(f"{number}", tmp_path, None, number, None, "h", None, None, (), None, None, None) for number in range(9)
    ]
    readings = {capture.name: Reading(1, float(capture.name), None, None) for capture in captures}
    answer = Answer(captures, readings, split=Split(3, 4, 4, 5, 1, 6, 9, 6))
    looked = []
    bands = Answer.bands

    def look(self: Answer) -> dict:
        looked.append(self)
        return bands(self)

    monkeypatch.setattr(Answer, "bands", look)
    with as_table(answer, []) as connection:
        assert connection.execute("SELECT capture, band FROM history").fetchall() == [
            (str(number), "low" if number < 4 else "high") for number in range(9)
        ]
    assert len(looked) == 1
