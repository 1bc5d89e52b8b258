"""Text from a capture is hostile: a thread may be named anything. What reaches a terminal passes through here."""

from __future__ import annotations

import math
import re
import unicodedata

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]"
)
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\x1b": "\\e"}


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char in _SHORT:
        return _SHORT[char]
    return f"\\x{ord(char):02x}" if ord(char) < 0x100 else f"\\u{ord(char):04x}"


def safe(text: str) -> str:
    """Return ``text`` on one line, with control characters, escape sequences and invisible or reordering ones spelled out."""
    return _UNSAFE.sub(_escape, text)


def safe_lines(text: str) -> str:
    """Do the same as ``safe``, but keep newlines and tabs, for output with lines such as CSV."""
    return _UNSAFE.sub(lambda match: match[0] if match[0] in "\n\t" else _escape(match), text)


def width(text: str) -> int:
    """Return the width of ``text`` in columns of a terminal."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def shorten(text: str, limit: int) -> str:
    """Cut ``text`` to at most ``limit`` characters."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def figure(value: float) -> str:
    """Format a number in three digits, or all those before the point: 0.0123, 12.3, 1,023."""
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


LONG_NS = 119.5e9
"""From here on a duration is said in its two largest units: what rounds to two minutes."""
_LONG = ((1e9, "s", 60, "min", 3600), (60e9, "min", 60, "h", 48 * 60), (3600e9, "h", 24, "d", float("inf")))


def duration(ns: float | None) -> str:
    """Format nanoseconds for people: 45.6 ms, 1.23 s, 2 min 5 s, 1 h 30 min, 7 d."""
    if ns is None:
        return "-"
    if LONG_NS <= abs(ns) < float("inf"):
        return _long(ns)
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(ns) >= scale:
            return f"{figure(ns / scale)} {unit}"
    return f"{ns:.0f} ns"


def _long(ns: float) -> str:
    """Return a duration in two units, rounded once, to the smaller one; the smaller one is not said where it is 0."""
    scale, unit, number, larger, _ = next(each for each in _LONG if round(abs(ns) / each[0]) < each[4])
    whole = round(abs(ns) / scale)
    most, rest = divmod(whole, number)
    return f"{'-' if ns < 0 else ''}{most:,} {larger}" + (f" {rest} {unit}" if rest else "")


def stretch(start_ns: float, end_ns: float) -> str:
    """Format a part of a recording, from when to when, in as many digits as its length has: 1.20 to 1.35 s, 0 s to 7 d."""
    seconds = max((end_ns - start_ns) / 1e9, 1e-9)
    digits = min(max(math.ceil(2 - math.log10(seconds)), 0), 9)
    if end_ns < LONG_NS:
        return f"{start_ns / 1e9:,.{digits}f} to {end_ns / 1e9:,.{digits}f} s"
    return f"{_moment(start_ns, digits)} to {_moment(end_ns, digits)}"


def _moment(ns: float, digits: int) -> str:
    """Return a moment of a recording with all of its units."""
    if ns < LONG_NS:
        return f"{ns / 1e9:,.{digits}f} s"
    whole, _, rest = f"{ns / 1e9:.{digits}f}".partition(".")
    minutes, seconds = divmod(int(whole), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [f"{number:,} {unit}" for number, unit in ((days, "d"), (hours, "h"), (minutes, "min")) if number]
    if rest or seconds:
        parts.append(f"{seconds}{'.' if rest else ''}{rest} s")
    return " ".join(parts)


def size(count: float | None) -> str:
    """Format bytes for people, in powers of 1024."""
    if count is None:
        return "-"
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{value:.0f} B" if unit == "B" else f"{figure(value)} {unit}"
        value /= 1024
    return f"{figure(value)} TiB"


def count(value: float | None) -> str:
    """Format a count with separators."""
    return "-" if value is None else f"{value:,.0f}"


def ratio(value: float | None) -> str:
    """Format a share as a percentage. Never print it without the absolute figure beside it."""
    return "-" if value is None else f"{100 * value:.1f} %"


def plural(number: int | None, noun: str) -> str:
    """Return ``1 row``, ``2 rows``."""
    return f"{count(number)} {noun}" + ("" if number == 1 else "s")
