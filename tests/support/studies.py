"""The sample captures as their reader has them, and what perfcase prints of them. Each pair is compared once for all tests."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

from perfcase.diff.compare import Side
from perfcase.operations import diff
from tests.support.cli import Done, perfcase
from tests.support.imports import SAMPLES, placed


class Studies:
    """Copies of the samples that the commands name, imported, in a folder. Nothing but reading is done to them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._done: dict[tuple[object, ...], Done] = {}
        self._known: dict[tuple[str, ...], Any] = {}

    def path(self, name: str) -> Path:
        """The copy of ``a-neighbours/alone.perfcase``."""
        copy = self._folder / name
        return copy if copy.exists() else placed(SAMPLES / name, copy.parent)

    def run(self, *words: object) -> Done:
        """What a command does in that folder."""
        if words in self._done:
            return self._done[words]
        for word in map(str, words):
            if (SAMPLES / word).is_file():
                self.path(word)
        with ExitStack() as stack:
            # A diff as text, as rows and as JSON is one comparison, written in three forms.
            for owner, name in (
                (diff, "rank"),
                (diff, "changes"),
                (diff.stack_page, "compare_stacks"),
            ):
                stack.enter_context(mock.patch.object(owner, name, self._once(getattr(owner, name))))
            self._done[words] = perfcase(*words, cwd=self._folder)
        return self._done[words]

    def _once(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def known(a: Side, b: Side, *more: object) -> Any:
            sides = [repr((each.case, each.start_ns, each.scope, each.per)) for each in (a, b)]
            key = (work.__name__, *sides, repr(more))
            if key not in self._known:
                self._known[key] = work(a, b, *more)
            return self._known[key]

        return known
