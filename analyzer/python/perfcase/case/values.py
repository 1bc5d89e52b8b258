"""Values of a query's parameters, as people type them: their types are by what is typed. The page has the same rule (sql/parameters.ts)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from perfcase.errors import PerfcaseError

Value = str | int | float | bool | None

_WHOLE = re.compile(r"[+-]?[0-9]{1,38}")
_NUMBER = re.compile(r"[+-]?([0-9]+[.][0-9]*|[.]?[0-9]+)([eE][+-]?[0-9]{1,3})?")
_WORDS: dict[str, Value] = {"true": True, "false": False, "null": None}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def typed(text: str) -> Value:
    """Return the value: a whole number, a number, true, false, null, or text; '…' is text whatever is in it."""
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    word = text.strip()
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    if _WHOLE.fullmatch(word):
        return int(word)
    return float(word) if _NUMBER.fullmatch(word) else text


def values_of(settings: Iterable[str]) -> dict[str, Value]:
    """Return the values of ``NAME=VALUE``, by name.

    Raises:
        PerfcaseError: one is not of this form, or is there twice (usage).
    """
    found: dict[str, Value] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise PerfcaseError("usage", f"--set {setting[:100]}: is not NAME=VALUE")
        if name.lower() in found:
            raise PerfcaseError("usage", f"--set {name}: is given twice")
        found[name.lower()] = typed(text)
    return found
