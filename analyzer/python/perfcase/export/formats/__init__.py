"""The formats of samples for other tools, one module each.

A module has ``READERS`` (the tools that read the format, for the help), ``MEDIA`` (``text``, ``json`` or ``binary``), ``SUFFIX`` (of a file's name),
``UNSUPPORTED`` (what the format cannot hold, in words) and ``write(samples, file)``;
``NEEDS_SAMPLES = False`` if it also holds other data. The command, the route, Python and the page
list the modules of this package: a new format needs nothing else.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import BinaryIO

from perfcase.export.source import Samples


@dataclass(frozen=True)
class Format:
    """A format of samples."""

    name: str
    readers: str
    media: str
    suffix: str
    unsupported: str
    write: Callable[[Samples, BinaryIO], None]
    needs_samples: bool
    """Whether a capture without samples cannot be written."""


@cache
def formats() -> dict[str, Format]:
    """Return the formats by name."""
    found = {}
    for entry in pkgutil.iter_modules(__path__):
        module = import_module(f"{__name__}.{entry.name}")
        found[entry.name] = Format(
            entry.name, module.READERS, module.MEDIA, module.SUFFIX, module.UNSUPPORTED, module.write,
            getattr(module, "NEEDS_SAMPLES", True),
        )  # fmt: skip
    return found
