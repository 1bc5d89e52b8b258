"""Copies of a perf.data that perf can mostly read and no perf wrote: words, records and sections changed, by a seed."""

from __future__ import annotations

import random
import struct

_HEAD = 8
_SECTION = struct.Struct("<QQ")
_ATTRS_AT, _DATA_AT, _FEATURES_AT = 24, 40, 72
"""Where the header has the places of the attributes and of the records, and which features there are."""
SAMPLE = 9
_MOST_TIMES = 4


def mutated(data: bytes, seed: int) -> tuple[bytes, str]:
    """The copy of a seed, and in words what was done to it."""
    chance = random.Random(seed)
    copy = bytearray(data)
    done = []
    for _ in range(chance.randint(1, _MOST_TIMES)):
        if not _records(copy, of_samples=True):
            break
        change = chance.choice(CHANGES)
        done.append(f"{change.__name__} {change(copy, chance)}")
    return bytes(copy), "; ".join(done)


def _records(copy: bytearray, *, of_samples: bool | None = None) -> list[tuple[int, int]]:
    """Begin and end of each record, as far as they are records."""
    found = []
    at, length = struct.unpack_from("<QQ", copy, _DATA_AT)
    end = at + length
    while at + _HEAD <= end:
        number, _, record_bytes = struct.unpack_from("<IHH", copy, at)
        if record_bytes < _HEAD or at + record_bytes > end:
            break
        if of_samples is None or of_samples == (number == SAMPLE):
            found.append((at, at + record_bytes))
        at += record_bytes
    return found


def _features(copy: bytearray) -> tuple[int, int]:
    """Where the table of the sections behind the records is, and how many there are."""
    start, length = struct.unpack_from("<QQ", copy, _DATA_AT)
    (bits,) = struct.unpack_from("<Q", copy, _FEATURES_AT)
    return start + length, bits.bit_count()


def _change_word(copy: bytearray, at: int, chance: random.Random) -> str:
    """Changes the eight bytes there, or some of them."""
    (before,) = struct.unpack_from("<Q", copy, at)
    width = chance.choice((8, 8, 4, 2, 1))
    step = chance.randrange(0, 8, width)
    mask = ((1 << 8 * width) - 1) << 8 * step
    new = chance.choice(
        (
            before ^ 1 << chance.randrange(64),
            before + chance.choice((-4096, -8, -1, 1, 8, 4096)) * (1 << 8 * step),
            chance.choice((0, 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)),
            chance.getrandbits(64),
        )
    )
    after = (before & ~mask | new & mask) & (1 << 64) - 1
    struct.pack_into("<Q", copy, at, after)
    return f"{before:#x} to {after:#x} at {at}"


def sample_word(copy: bytearray, chance: random.Random) -> str:
    """A word of a sample: its address, thread, time, CPU, period, callchain, or what its tracepoint wrote."""
    begin, end = chance.choice(_records(copy, of_samples=True))
    return _change_word(copy, chance.randrange(begin + _HEAD, end - 7, 8), chance)


def other_word(copy: bytearray, chance: random.Random) -> str:
    """A word of another record: a mapping, a name, a fork, an exit, a loss."""
    records = [(begin, end) for begin, end in _records(copy, of_samples=False) if end - begin > _HEAD]
    if not records:
        return "nowhere"
    begin, end = chance.choice(records)
    return _change_word(copy, chance.randrange(begin + _HEAD, end - 7, 8), chance)


def word_of_another(copy: bytearray, chance: random.Random) -> str:
    """A word of a sample becomes that of another one, at the same place in it."""
    records = _records(copy, of_samples=True)
    (begin, end), (other, other_end) = chance.choice(records), chance.choice(records)
    at = chance.randrange(_HEAD, min(end - begin, other_end - other) - 7, 8)
    copy[begin + at : begin + at + 8] = copy[other + at : other + at + 8]
    return f"{other + at} at {begin + at}"


def misc(copy: bytearray, chance: random.Random) -> str:
    """Where a sample was: user space, the kernel, a guest."""
    begin, _ = chance.choice(_records(copy))
    value = chance.choice((0, 1, 2, 3, 4, 5, 6, 7, 1 << 12, 1 << 13, 1 << 14, 1 << 15))
    struct.pack_into("<H", copy, begin + 4, value)
    return f"{value} at {begin}"


def kind(copy: bytearray, chance: random.Random) -> str:
    """A record becomes one of another kind."""
    begin, _ = chance.choice(_records(copy))
    value = chance.choice((*range(1, 22), *range(64, 84), 84, 1000))
    struct.pack_into("<I", copy, begin, value)
    return f"{value} at {begin}"


def size(copy: bytearray, chance: random.Random) -> str:
    """A record says that it is shorter or longer than it is; what follows is read from there."""
    begin, end = chance.choice(_records(copy))
    value = chance.choice((end - begin - 8, end - begin + 8, end - begin + 16, 8, 16))
    struct.pack_into("<H", copy, begin + 6, max(_HEAD, value) & 0xFFF8)
    return f"{value} at {begin}"


def leave_out(copy: bytearray, chance: random.Random) -> str:
    """A record is missing."""
    begin, end = chance.choice(_records(copy))
    return _replace(copy, begin, end, b"") + f" {begin} to {end}"


def repeat(copy: bytearray, chance: random.Random) -> str:
    """A record is there twice."""
    begin, end = chance.choice(_records(copy))
    return _replace(copy, end, end, bytes(copy[begin:end])) + f" {begin} to {end}"


def move(copy: bytearray, chance: random.Random) -> str:
    """A record comes later than it did."""
    records = _records(copy)
    begin, end = chance.choice(records)
    record = bytes(copy[begin:end])
    _replace(copy, begin, end, b"")
    target = chance.choice(_records(copy))[0]
    return _replace(copy, target, target, record) + f" {begin} to {target}"


def _replace(copy: bytearray, begin: int, end: int, new: bytes) -> str:
    """Replaces bytes of the records; what lies behind them, the features, moves."""
    table, count = _features(copy)
    (length,) = struct.unpack_from("<Q", copy, _DATA_AT + 8)
    grown = len(new) - (end - begin)
    copy[begin:end] = new
    struct.pack_into("<Q", copy, _DATA_AT + 8, length + grown)
    for number in range(count):
        at = table + grown + _SECTION.size * number
        offset, size_bytes = _SECTION.unpack_from(copy, at)
        _SECTION.pack_into(copy, at, (offset + grown) % (1 << 64), size_bytes)
    return f"{grown:+d} bytes"


def feature(copy: bytearray, chance: random.Random) -> str:
    """A word of a section behind the records: build IDs, formats of tracepoints, the names of events, what host it was."""
    table, count = _features(copy)
    if not count:
        return "none"
    offset, length = _SECTION.unpack_from(copy, table + _SECTION.size * chance.randrange(count))
    if length < 8 or offset + length > len(copy):
        return "empty"
    return _change_word(copy, chance.randrange(offset, offset + length - 7), chance)


def section(copy: bytearray, chance: random.Random) -> str:
    """Where a section is, or how long."""
    table, count = _features(copy)
    return _change_word(copy, table + 8 * chance.randrange(2 * count), chance) if count else "none"


def attribute(copy: bytearray, chance: random.Random) -> str:
    """A word of an event's attributes."""
    offset, length = _SECTION.unpack_from(copy, _ATTRS_AT)
    return _change_word(copy, chance.randrange(offset, offset + length - 7, 8), chance)


CHANGES = (
    sample_word, sample_word, sample_word, sample_word, sample_word, other_word, other_word, other_word, word_of_another,
    word_of_another, misc, kind, size, leave_out, repeat, move, feature, section, attribute,
)  # fmt: skip
