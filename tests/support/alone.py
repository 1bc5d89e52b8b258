"""What only one of the processes that run the tests may do at a time."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BUILD = Path(__file__).parents[2] / "build" / "tests"


@contextmanager
def alone(name: str) -> Iterator[None]:
    """Waits until nobody else is in a block of this name. The lock ends with the process, however that ends."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
