"""Protocol Buffers' wire format, as much as it takes to write: varints, packed numbers, texts, messages in messages."""

from __future__ import annotations

import struct
from collections.abc import Iterable

_VARINT, _FIXED64, _BYTES = 0, 1, 2


def varint(value: int) -> bytes:
    """Return a number of up to 64 bits; a negative one as its two's complement, as int32 and int64 are written."""
    value &= 0xFFFF_FFFF_FFFF_FFFF
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """Return a field of type int32, int64, uint32, uint64, bool or enum."""
    return varint(field << 3 | _VARINT) + varint(value)


def double(field: int, value: float) -> bytes:
    """Return a field of type double."""
    return varint(field << 3 | _FIXED64) + struct.pack("<d", value)


def message(field: int, content: bytes) -> bytes:
    """Return a field of type bytes or of a message."""
    return varint(field << 3 | _BYTES) + varint(len(content)) + content


def text(field: int, value: str) -> bytes:
    """Return a field of type string: what is not Unicode (a lone surrogate) becomes a question mark."""
    return message(field, value.encode("utf-8", "replace"))


def packed(field: int, values: Iterable[int]) -> bytes:
    """Return a repeated field of numbers, packed."""
    return message(field, b"".join(map(varint, values)))
