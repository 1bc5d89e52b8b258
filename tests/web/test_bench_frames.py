"""What the page's bench takes for a frame: all that is called for it, however many asked."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "analyzer" / "benches"))
import page_moves


def event(name: str, begin: int, duration: int, cpu: int) -> dict:
    return {"name": name, "ts": begin, "dur": duration, "tdur": cpu, "pid": 1, "tid": 1, "ph": "X"}


def test_a_frame_that_two_asked_for_is_one() -> None:
    """Halves of frames had a median of a fifth of what a frame takes."""
    trace = [
        one
        for begin in (0, 16_000, 32_000)
        for one in (
            event("RunTask", begin, 9000, 8000),
            event("FireAnimationFrame", begin + 100, 2000, 2000),
            event("FireAnimationFrame", begin + 3000, 1000, 1000),
            event("RunTask", begin + 10_000, 1000, 500),
        )
    ]
    spent, parts = page_moves._spent(trace)
    assert spent == [8.5, 8.5, 8.5]
    assert parts == {"RunTask": 16.5, "FireAnimationFrame": 9.0}
