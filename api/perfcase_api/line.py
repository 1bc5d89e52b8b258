"""A line of questions: so many are at work at once, and the most urgent of the others is next."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

USUAL = 3
"""The urgency of what does not say one (RFC 9218): 0 comes first, 7 last."""
_SAID = re.compile(r"(?:^|[,\s])u=([0-7])(?![^,\s;])")


def urgency(header: str) -> int:
    """Return the urgency that a ``Priority`` header says, as ``u=1``."""
    found = _SAID.search(header)
    return int(found[1]) if found else USUAL


class Line:
    """The places of one user. The first of equally urgent questions comes first."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._numbers = itertools.count()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def place(self, urgency: int = USUAL) -> AsyncIterator[None]:
        """Hold a place, when there is one."""
        if self._free:
            self._free -= 1
        else:
            called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            heapq.heappush(self._waiting, (urgency, next(self._numbers), called))
            try:
                await called
            except asyncio.CancelledError:
                if not called.cancelled():
                    # It was called and has gone.
                    self._leave()
                raise
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        while self._waiting:
            _, _, called = heapq.heappop(self._waiting)
            if not called.done():
                called.set_result(None)
                return
        self._free += 1
