"""How often the tests try what they try at random: one variable for all of them.

``make test`` tries a tenth (PERFCASE_TEST_SCALE is 0.1), ``make test-long`` all of it (1); a night may take 10.
"""

from __future__ import annotations

import os

SCALE = float(os.environ.get("PERFCASE_TEST_SCALE", "0.1"))


def scaled(count: int, least: int = 1) -> int:
    """So many of ``count`` tries: the count that the long tier takes."""
    return max(least, round(count * SCALE))
