"""Text from a capture is hostile: a thread may be named anything. What reaches a terminal passes through here."""

from __future__ import annotations

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


def duration(ns: float | None) -> str:
    """Format nanoseconds for people: 1.23 s, 45.6 ms."""
    if ns is None:
        return "-"
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(ns) >= scale:
            return f"{figure(ns / scale)} {unit}"
    return f"{ns:.0f} ns"


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
