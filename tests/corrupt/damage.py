"""Damaged copies of a perf.data, made from a seed, and what of it lies before the damage."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass

_HEADER = struct.Struct("<8s 8Q")  # magic, size, attr_size, attrs (offset, size), data (offset, size), event types
_RECORD = struct.Struct("<IHH")
_SAMPLE = 9


@dataclass(frozen=True)
class Damage:
    """One damaged copy: cut at an offset, or with some bytes changed."""

    kind: str
    seed: int


@dataclass(frozen=True)
class Layout:
    """Where the records of a file-mode perf.data lie."""

    data_start: int
    data_end: int
    records: list[tuple[int, int, bool]]

    def samples_before(self, offset: int) -> int:
        """How many samples lie whole before the offset."""
        return sum(is_sample and end <= offset for _, end, is_sample in self.records)

    def cuts_a_record(self, offset: int) -> int | None:
        """The start of the record that a cut at the offset breaks."""
        return next((start for start, end, _ in self.records if start < offset < end), None)


def layout(data: bytes) -> Layout:
    """The records of an undamaged little-endian perf.data."""
    magic, _, _, _, _, start, size, _, _ = _HEADER.unpack_from(data)
    assert magic == b"PERFILE2"
    records = []
    at = start
    while at < start + size:
        kind, _, length = _RECORD.unpack_from(data, at)
        records.append((at, at + length, kind == _SAMPLE))
        at += length
    return Layout(start, start + size, records)


def cut_offset(data: bytes, seed: int) -> int:
    """Where the copy with this seed is cut."""
    return random.Random(seed).randrange(1, len(data))


def flips(data: bytes, seed: int) -> list[tuple[int, int]]:
    """(offset, new byte) of the copy with this seed: 1 to 16 of them, each another byte than before."""
    chance = random.Random(seed)
    offsets = sorted(chance.sample(range(len(data)), chance.randint(1, 16)))
    return [(offset, data[offset] ^ chance.randrange(1, 256)) for offset in offsets]


def apply(data: bytes, damage: Damage) -> bytes:
    """The damaged copy."""
    if damage.kind == "cut":
        return data[: cut_offset(data, damage.seed)]
    copy = bytearray(data)
    for offset, byte in flips(data, damage.seed):
        copy[offset] = byte
    return bytes(copy)
