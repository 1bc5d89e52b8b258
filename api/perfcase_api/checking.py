"""Check an archive while it arrives, with the reader of archives, in a process that can read only this file.

The untrusted manifest is parsed there and not in the server. The reply is a ticket and a few lines of text.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from perfcase.case import store
from perfcase.case.inspection import inspect, redaction

REPLY_BYTES_MAX = 1 << 16
"""Bytes of what such a process says; it may have been taken over."""
FIRST_LOOK_BYTES = 1 << 20
"""Where a manifest may be refused, an upload is looked at after so many bytes."""
LOOK_BYTES = 64 << 20
"""After so many more bytes of an upload it is looked at again."""
MEMORY_BYTES = 4 << 30
"""Address space of the process, besides the file, which it maps."""

_PROBLEMS_MAX = 20
_TEXT_MAX = 300


@dataclass(frozen=True)
class Checked:
    """What is known of an archive that arrives. The next look begins at ``checked_bytes``."""

    ticket: str = ""
    checked_bytes: int = 0
    is_redacted: bool | None = None
    """Whether the manifest says so; None: it is not there yet. Anyone can write that: it is no proof."""
    damage: tuple[str, ...] = ()
    """What does not agree, in words; each names the place."""


Check = Callable[[Path, int, bool], Awaitable[Checked]]
"""Looks at a file from an offset on; whether it is whole."""


def look(path: str, begin: int, is_whole: bool) -> str:
    """Check the members from an offset on, in the process. Return the result as JSON."""
    text = store.import_core().check(path, begin, is_whole)
    found = json.loads(text) if text else {"ticket": None, "checked_bytes": 0, "problems": []}
    damage = [_line(problem) for problem in found["problems"]]
    if len(damage) > _PROBLEMS_MAX:
        damage[_PROBLEMS_MAX:] = [f"and {len(damage) - _PROBLEMS_MAX} more"]
    ticket = (found["ticket"] or "")[:_TEXT_MAX]
    is_redacted = _is_redacted(path, is_whole) if text else False if is_whole else None
    reply = {"ticket": ticket, "checked_bytes": found["checked_bytes"], "is_redacted": is_redacted, "damage": damage}
    return json.dumps(reply)


def _is_redacted(path: str, is_whole: bool) -> bool | None:
    """Whether the manifest says that the archive is redacted. It is complete when a member follows it."""
    described = inspect(Path(path))
    if not is_whole and not (described["manifest"] and described["members"]):
        return None
    return redaction(described["manifest"]) is not None


def parse_reply(line: bytes) -> Checked:
    """Parse the reply of a process, in the server. It is untrusted: raise ValueError if it makes no sense."""
    reply = json.loads(line)
    if not isinstance(reply, dict):
        raise ValueError("not what a check says")
    damage, ticket, begin = reply.get("damage"), reply.get("ticket"), reply.get("checked_bytes")
    if not (isinstance(damage, list) and isinstance(ticket, str) and isinstance(begin, int) and 0 <= begin < 1 << 62):
        raise ValueError("not what a check says")
    said = reply.get("is_redacted")
    is_redacted = said if isinstance(said, bool) else None
    return Checked(
        ticket, begin, is_redacted, tuple(str(each)[: 2 * _TEXT_MAX] for each in damage[: _PROBLEMS_MAX + 1])
    )


def _line(problem: dict) -> str:
    """Return a problem in one line."""
    place = "" if problem["byte_offset"] is None else f" (at byte {problem['byte_offset']})"
    return f"{problem['message'][:_TEXT_MAX]}{place}"
