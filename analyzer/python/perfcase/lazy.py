"""Modules that are loaded when they are first used: an import runs for most of its time without them.

lazy.pyi says to type checkers what they are.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class _Lazy:
    """Stands for a module until one of its attributes or submodules is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:  # noqa: ANN401 - whatever the module has
        module = import_module(self._name)
        try:
            return getattr(module, attribute)
        except AttributeError:
            return import_module(f"{self._name}.{attribute}")


capstone = _Lazy("capstone")
duckdb = _Lazy("duckdb")
rich = _Lazy("rich")
