"""Comparison of whole result sets."""

from __future__ import annotations

from collections import Counter

_SHOWN = 20


def differences(ours: Counter, theirs: Counter) -> list[str]:
    """What is in one and not in the other, in words: empty when equal."""
    only_ours, only_theirs = ours - theirs, theirs - ours
    told = [f"ours alone ({count}): {row}" for row, count in only_ours.items()][:_SHOWN]
    told += [f"theirs alone ({count}): {row}" for row, count in only_theirs.items()][:_SHOWN]
    if told:
        told.insert(0, f"{sum(only_ours.values())} of ours and {sum(only_theirs.values())} of theirs differ")
    return told
