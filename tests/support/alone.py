"""What only one of the processes that run the tests may do at a time."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

BUILD = Path(__file__).parents[2] / "build" / "tests"


@contextmanager
def alone(name: str) -> Iterator[None]:
    """Waits until nobody else is in a block of this name. The lock ends with the process, however that ends."""
    with ExitStack() as stack:
        _lock(stack, f"{name}.next", fcntl.LOCK_EX)
        _lock(stack, name, fcntl.LOCK_EX)
        yield


@contextmanager
def beside(name: str) -> Iterator[None]:
    """Like ``alone``, but others may be in such a block at the same time; who waits to be alone comes first."""
    with ExitStack() as stack:
        file = _lock(stack, f"{name}.next", fcntl.LOCK_EX)
        _lock(stack, name, fcntl.LOCK_SH)
        fcntl.flock(file, fcntl.LOCK_UN)
        yield


def _lock(stack: ExitStack, name: str, kind: int) -> IO[str]:
    BUILD.mkdir(parents=True, exist_ok=True)
    file = stack.enter_context((BUILD / f"{name}.lock").open("w"))
    fcntl.flock(file, kind)
    return file
