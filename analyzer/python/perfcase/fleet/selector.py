"""Which captures are meant: ``host=web-*,ticket=OPS-123,label=canary,after=2026-01-05,before=2026-01-06T12:00``.

Conditions of different keys must all hold, of those of the same key one. Names may hold ``*`` and ``?``. A label is one
that the recorder was given. Times are UTC unless they name an offset; ``after`` includes its moment, ``before`` does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from perfcase.errors import PerfcaseError
from perfcase.fleet.captures import Capture

Test = Callable[[Capture], bool]

KEYS = ("host", "ticket", "label", "capture", "before", "after")


def parse(text: str) -> Test:
    """Return the test that a selector stands for."""
    conditions: dict[str, list[Test]] = {}
    for part in text.split(","):
        key, separator, value = part.strip().partition("=")
        if not separator or key not in KEYS or not value:
            hint = f"KEY=VALUE, separated by commas; keys are {', '.join(KEYS)}"
            raise PerfcaseError("usage", f"{text}: '{part.strip()}' is not a condition", hint)
        conditions.setdefault(key, []).append(_condition(key, value))
    return lambda capture: all(any(test(capture) for test in tests) for tests in conditions.values())


def select(captures: Iterable[Capture], text: str) -> list[Capture]:
    """Return the captures that a selector means; at least one."""
    test = parse(text)
    chosen = [capture for capture in captures if test(capture)]
    if not chosen:
        raise PerfcaseError("not_found", f"{text}: no capture matches", "perfcase history STORE lists them")
    return chosen


def _condition(key: str, value: str) -> Test:
    if key in ("before", "after"):
        moment_ns = _moment_ns(value)
        if key == "before":
            return lambda capture: capture.started_realtime_ns is not None and capture.started_realtime_ns < moment_ns
        return lambda capture: capture.started_realtime_ns is not None and capture.started_realtime_ns >= moment_ns
    names: dict[str, Callable[[Capture], Iterable[str | None]]] = {
        "host": lambda capture: (capture.host,),
        "ticket": lambda capture: (capture.ticket,),
        "label": lambda capture: capture.labels,
        "capture": lambda capture: (capture.name,),
    }
    of = names[key]
    return lambda capture: any(name is not None and fnmatchcase(name, value) for name in of(capture))


def _moment_ns(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise PerfcaseError("usage", f"{text}: not a time", "2026-01-05 or 2026-01-05T14:30 (UTC)") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000
