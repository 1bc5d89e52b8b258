"""What several requests use at once: made for the first, ended when the last has gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Shared(Generic[_T]):
    """Context managers by their keys. Each is entered and left by a task of its own: a request that is cancelled ends nothing that
    others use, and cannot cut short how it ends."""

    def __init__(self) -> None:
        self._held: dict[Hashable, _Held[_T]] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        """Return how many are used now."""
        return len(self._held)

    @asynccontextmanager
    async def use(self, key: Hashable, make: Callable[[], AbstractAsyncContextManager[_T]]) -> AsyncIterator[_T]:
        """Provide what is used under this key by others; else what ``make`` makes. All of them get an error of its making."""
        held = self._held.get(key)
        if held is None:
            held = self._held[key] = _Held(make())
        held.users += 1
        try:
            yield await asyncio.shield(held.made)
        finally:
            held.users -= 1
            if not held.users:
                self.forget(key, held.made)
                self._ending.add(held.task)
                held.task.add_done_callback(self._ending.discard)
                held.task.cancel()

    def at_hand(self, key: Hashable) -> _T | None:
        """Return what is used under this key, if it is made."""
        held = self._held.get(key)
        is_made = held is not None and held.made.done() and not held.made.cancelled() and held.made.exception() is None
        return held.made.result() if held is not None and is_made else None

    def forget(self, key: Hashable, made: asyncio.Future[_T] | None = None) -> None:
        """Give it to nobody else; who uses it goes on. ``made``: only if it is this one."""
        if (held := self._held.get(key)) and made in (None, held.made):
            del self._held[key]

    async def ended(self) -> None:
        """Wait for the end of all that nobody uses."""
        if self._ending:
            await asyncio.wait(self._ending)


class _Held(Generic[_T]):
    """One of them."""

    def __init__(self, manager: AbstractAsyncContextManager[_T]) -> None:
        self.users = 0
        self.made: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
        self.task = asyncio.create_task(self._hold(manager))

    async def _hold(self, manager: AbstractAsyncContextManager[_T]) -> None:
        try:
            async with manager as thing:
                self.made.set_result(thing)
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.made.cancel()
        except Exception as error:
            if self.made.done():
                raise
            self.made.set_exception(error)
            # Those who wait may all be gone.
            self.made.exception()
