"""The one error that perfcase shows to its users."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

EXIT_CODES = {
    "internal": 1,
    "usage": 2,
    "input": 3,
    "version": 4,
    "sql": 5,
    "not_found": 6,
    "not_permitted": 7,
    "environment": 8,
    "interrupted": 130,
}
"""Kind of error to exit code of the command line. The codes are fixed: scripts rely on them."""

FOUND = 9
"""Not an error: the exit code of perfcase findings --fail-on where such a finding fired."""

KIND_MEANINGS = {
    "internal": "a fault in perfcase itself",
    "usage": "wrong usage of the command",
    "input": "the capture cannot be read",
    "version": "the capture has a newer major version than this perfcase can read",
    "sql": "the query is wrong or not allowed",
    "not_found": "a file, view or table does not exist",
    "not_permitted": "the system refused access",
    "environment": "something is missing on this machine, or a disk is full",
    "interrupted": "stopped by the user",
}
"""What each kind means, for --help and the documentation."""


class PerfcaseError(Exception):
    """Something that the user can act on: what went wrong, where, and the remedy.

    ``kind`` is a key of EXIT_CODES, ``message`` names the file and the place, ``hint`` says what to do. ``rows``: what there is to choose
    from, as a table with a head.
    """

    def __init__(self, kind: str, message: str, hint: str | None = None, *, rows: Sequence[Sequence[str]] = ()) -> None:
        if kind not in EXIT_CODES:
            raise ValueError(f"unknown kind of error: {kind}")
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint
        self.rows = rows

    @property
    def exit_code(self) -> int:
        """The exit code of the command line for this error."""
        return EXIT_CODES[self.kind]

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class NotRedacted(UserWarning):
    """A capture is sent that is not redacted."""


def unknown(what: str, name: str, known: Iterable[str], listing: str) -> PerfcaseError:
    """Return the error for an unknown name, with similar names; ``listing``: the command that lists all."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"{listing} lists them"
    return PerfcaseError("not_found", f"there is no {what} {name}", hint)
