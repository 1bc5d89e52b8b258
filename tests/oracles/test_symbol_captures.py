"""The captures with symbols hold what they are to show: for each frame that perf named there is a symbol in the tables."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.oracles.symbols import STORED, STORED_DWARF, Stored, Tables, their_stacks

CAPTURES = pytest.mark.parametrize("capture", [pytest.param(each, id=each.id) for each in (*STORED, *STORED_DWARF)])


@CAPTURES
def test_tables_have_every_symbol_that_perf_named(capture: Stored) -> None:
    tables = Tables.of(capture.archive())
    absent: Counter[str] = Counter()
    found = 0
    for stacks in their_stacks(capture).values():
        for frame in (frame for stack in stacks for frame in stack):
            if frame.name is None or not tables.has(frame.dso):
                continue
            if frame.name.endswith("@plt"):
                found += frame.name.removesuffix("@plt") in tables.names(frame.dso)[0]
                continue
            address = tables.address(frame.dso, frame.address)
            if address is not None and address - frame.offset in tables.names(frame.dso):
                found += 1
            else:
                absent[f"{frame.dso} {frame.name}"] += 1
    assert found > 100
    assert not absent
