"""What the importer finds by following threads and CPUs, against its definition in SQL over the rows of thread_state.

Random switches, wakeups and moves: analyzer/crates/perfcase-import/src/timeline/queue_tests.rs.
"""

from __future__ import annotations

import pytest

from perfcase.case import query
from tests.support.imports import SAMPLES, imported
from tests.support.run_queue import PAIRS, difference

CAPTURES = sorted(str(path.relative_to(SAMPLES)) for path in SAMPLES.glob("*/*.perfcase"))


@pytest.mark.parametrize("name", CAPTURES)
def test_every_row_is_as_defined(name: str) -> None:
    with query.connect(imported(SAMPLES / name).folder) as connection:
        for pair, (ours, _) in PAIRS.items():
            assert connection.execute(difference(pair)).fetchall() == [], pair
            ((count,),) = connection.execute(f"SELECT count(*) FROM ({ours})").fetchall()
            assert count > 100 or pair == "unclaimed_level"
