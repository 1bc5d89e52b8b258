"""Bounds on SQL that a user wrote, looked at before DuckDB parses it. Its length is bounded by the request (perfcase.operations).

DuckDB's parser needs time and memory by the square of how deep brackets are that are not closed: 27 s and 1.5 GB for 3,000. Where a WITH is
in the brackets of a WITH, each level takes it seven times as long to find an error: 24 s for 8 levels, in 96 characters.
"""

from __future__ import annotations

from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb

DEPTH_MAX = 100
"""How deep brackets may be in brackets."""
WITH_DEPTH_MAX = 4
"""How deep a WITH may be in the brackets of another."""

_OURS = 5
"""Brackets that we put around what a user wrote: they do not count."""
_OPENING, _CLOSING = b"([{", b")]}"


def check(sql: str) -> None:
    """Check that a user's SQL, or a statement with a user's condition in it, can be parsed in a moment.

    Raises:
        PerfcaseError: it is too deep (sql).
    """
    # Nearly all has so few that they need not be told from those in strings and comments.
    if sum(map(sql.count, "([{")) <= DEPTH_MAX and sql.lower().count("with") <= WITH_DEPTH_MAX:
        return
    depth, with_depth = _depths(sql)
    if depth > DEPTH_MAX + _OURS:
        raise PerfcaseError(
            "sql",
            f"brackets are in brackets more than {DEPTH_MAX} deep; {DEPTH_MAX} are allowed",
            "see whether each is closed; a part of it can be a WITH",
        )
    if with_depth > WITH_DEPTH_MAX:
        raise PerfcaseError(
            "sql",
            f"a WITH is in the brackets of a WITH more than {WITH_DEPTH_MAX} deep; {WITH_DEPTH_MAX} are allowed",
            "one WITH can have many parts: WITH a AS (…), b AS (SELECT … FROM a) SELECT … FROM b",
        )


def _depths(sql: str) -> tuple[int, int]:
    """Return how deep brackets are in brackets, and WITH in those of WITH: at least, where one of them is too deep."""
    text = sql.encode(errors="replace")
    tokens = duckdb.tokenize(sql)
    ends = [start for start, _ in tokens[1:]] + [len(text)]
    depth = with_depth = 0
    has_with = [False]
    for (start, kind), end in zip(tokens, ends, strict=True):
        if kind == duckdb.token_type.operator:
            for char in text[start:end]:
                if char in _OPENING:
                    has_with.append(False)
                elif char in _CLOSING and len(has_with) > 1:
                    has_with.pop()
        elif kind == duckdb.token_type.keyword and text[start:end].strip().lower() == b"with":
            has_with[-1] = True
            with_depth = max(with_depth, sum(has_with))
        depth = max(depth, len(has_with) - 1)
        if depth > DEPTH_MAX + _OURS or with_depth > WITH_DEPTH_MAX:
            break
    return depth, with_depth
