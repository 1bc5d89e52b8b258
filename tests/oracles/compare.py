"""Comparison of whole result sets."""

from __future__ import annotations

from collections import Counter

import pytest

_SHOWN = 20


def assert_same(ours: Counter, theirs: Counter, what: str = "rows") -> None:
    """Fails with the rows that one side has and the other has not."""
    only_ours, only_theirs = ours - theirs, theirs - ours
    if not only_ours and not only_theirs:
        return
    told = [f"{what}: {sum(only_ours.values())} of ours and {sum(only_theirs.values())} of theirs differ"]
    told += sorted(f"ours   {row} x {count}" for row, count in only_ours.items())[:_SHOWN]
    told += sorted(f"theirs {row} x {count}" for row, count in only_theirs.items())[:_SHOWN]
    pytest.fail("\n".join(told), pytrace=False)
