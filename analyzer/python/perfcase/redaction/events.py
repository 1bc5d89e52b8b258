"""What stands for the values in events."""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterable
from pathlib import Path

from perfcase.catalogue.privacy import EVENT_TEXT, load_privacy
from perfcase.catalogue.schema import load_tables
from perfcase.redaction.values import Values

_OWN = "perf.data"
"""The table of what is in a perf.data besides tracepoints."""
_NO_BITS, _COMPRESSED = 8, 1 << 11
"""SHT_NOBITS and SHF_COMPRESSED of ELF."""
_COMM = re.compile(r"(?:[a-z]+_)?comm")


def changed(table: str, column: str, value: bytes, values: Values, arguments: frozenset[bytes]) -> bytes | None:
    """Return what stands for the value of a field; None: it is public."""
    kind = _class(table, column)
    if kind is None or not value:
        return None
    if table == _OWN and column == "hostname":
        return values.whole("host_name", value)
    if table == _OWN and column in ("command_line", "argument"):
        # The recorder's own options stay.
        return values.argument(value) if value in arguments else _equal(values.path(value), value)
    if kind == "control_group" or (table.startswith("cgroup_") and column in ("path", "dst_path")):
        return values.group(value)
    if kind == "path":
        return values.whole_path(value)
    return values.event_text(value)


def arguments(texts: Iterable[tuple[str, str, Iterable[bytes]]]) -> frozenset[bytes]:
    """Return the words of the command that perf recorded, by its own command line."""
    return frozenset(
        value for table, column, found in texts if (table, column) == (_OWN, "argument") for value in found
    )


def _equal(made: bytes, value: bytes) -> bytes | None:
    return made if len(made) == len(value) else None


def _class(table: str, column: str) -> str | None:
    own = {"path": "path", "cgroup": "control_group", "hostname": "host_name"}
    own |= dict.fromkeys(("command_line", "argument"), "argument")
    if table == _OWN:
        return own[column]
    if table not in load_tables():
        # A name that is public elsewhere may be anything in an event that nobody knows.
        return None if _COMM.fullmatch(column) else EVENT_TEXT
    try:
        kind = load_privacy().class_of(table, column)
    except KeyError:
        return EVENT_TEXT
    return None if kind in ("symbol_name", "kernel_address") else kind


def known_paths(path: Path, values: Values) -> None:
    """Tell the values of the private paths that stand anywhere in a file of bytes."""
    if path.stat().st_size == 0:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for found in values.rules.paths.finditer(data):
            values.path(found[0])


def is_sealed(path: Path) -> bool:
    """Whether a file is a program with compressed sections, in which nothing can be searched for."""
    with path.open("rb") as file:
        head = file.read(64)
        if head[:4] != b"\x7fELF" or len(head) < 64 or head[4] not in (1, 2) or head[5] not in (1, 2):
            return False
        order, is_wide = "<>"[head[5] - 1], head[4] == 2
        (at,) = struct.unpack_from(order + ("Q" if is_wide else "I"), head, 40 if is_wide else 32)
        size, count = struct.unpack_from(order + "HH", head, 58 if is_wide else 46)
        file.seek(min(at, path.stat().st_size))
        sections = file.read(size * count)
    flags = order + ("IQ" if is_wide else "II")
    found = (
        struct.unpack_from(flags, sections, each + 4) for each in range(0, len(sections) - size + 1, max(size, 40))
    )
    return any(kind != _NO_BITS and bits & _COMPRESSED for kind, bits in found)


def move_hex(path: Path, values: Values) -> None:
    """Move the addresses of the kernel that stand as text in a file of bytes: tables of symbols are copied into some."""
    if path.stat().st_size == 0:
        return
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        for at, made in values.pseudonyms.hex_places(data):
            data[at : at + len(made)] = made
