"""Pictures in a line of text."""

from __future__ import annotations

from collections.abc import Iterable

from perfcase.terminal.drawing import spark, with_gaps
from perfcase.text import duration

_WIDTH = 40


def distribution(buckets: Iterable[tuple[int, int, int]]) -> str:
    """Draw a histogram of durations: buckets as their beginning and end in ns, and how many there are in each."""
    filled = with_gaps(buckets)
    counts = [float(number) for *_, number in filled]
    return f"{duration(filled[0][0])} {spark(counts, max(counts), _WIDTH)} {duration(filled[-1][1])}"
