"""What a team keeps under names on a server: queries, and boards of figures."""

from __future__ import annotations

import sqlite3
from typing import Literal

from perfcase_api.catalogue import Catalogue, Row, now_ns
from perfcase_api.errors import ApiError
from perfcase_api.who import Who

NAME_MAX = 100
COUNT_MAX = 500
"""So many of a kind may those keep who have the same tickets."""


class Shelf:
    """Those of one kind. One sees what was saved by who sees no other tickets than oneself."""

    def __init__(self, catalogue: Catalogue, kind: Literal["query", "board"]) -> None:
        self._catalogue = catalogue
        self._kind = kind

    def all(self, who: Who) -> list[Row]:
        """Return those in scope, by name."""
        return self._catalogue.rows(
            "SELECT * FROM saved WHERE kind = ? AND substr(ticket_prefix, 1, length(?)) = ? ORDER BY lower(name), saved_id",
            (self._kind, who.ticket_prefix, who.ticket_prefix),
        )

    def find(self, who: Who, saved_id: int) -> Row:
        """Return one in scope. One out of scope looks like one that does not exist."""
        row = self._catalogue.row("SELECT * FROM saved WHERE saved_id = ? AND kind = ?", (saved_id, self._kind))
        if row is None or not who.sees(row["ticket_prefix"]):
            raise ApiError("not_found", f"there is no {self._kind} {saved_id}", "somebody may have deleted it")
        return row

    def add(self, who: Who, name: str, told: str) -> Row:
        """Save one under a new name."""
        who.needs("uploader")
        name = _clean(name)
        with self._catalogue.writing() as db:
            (count,) = db.execute(
                "SELECT count(*) FROM saved WHERE kind = ? AND ticket_prefix = ?", (self._kind, who.ticket_prefix)
            ).fetchone()
            if count >= COUNT_MAX:
                raise ApiError(
                    "too_large", f"there are {count} of this kind, the most that there may be", "delete some"
                )
            try:
                saved_id = db.execute(
                    "INSERT INTO saved (kind, name, ticket_prefix, told, author, token_id, written_ns)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (self._kind, name, who.ticket_prefix, told, who.name, who.token_id, now_ns()),
                ).lastrowid
            except sqlite3.IntegrityError as error:
                raise _taken(self._kind, name) from error
        assert saved_id is not None
        return self.find(who, saved_id)

    def replace(self, who: Who, saved_id: int, name: str, told: str) -> Row:
        """Save it in place of what is there, with the name of who did."""
        who.needs("uploader")
        name = _clean(name)
        self.find(who, saved_id)
        try:
            self._catalogue.write(
                "UPDATE saved SET name = ?, told = ?, author = ?, token_id = ?, written_ns = ? WHERE saved_id = ?",
                (name, told, who.name, who.token_id, now_ns(), saved_id),
            )
        except sqlite3.IntegrityError as error:
            raise _taken(self._kind, name) from error
        return self.find(who, saved_id)

    def remove(self, who: Who, saved_id: int) -> None:
        """Delete one. An uploader can delete what was saved last with the same token."""
        who.needs("uploader")
        row = self.find(who, saved_id)
        if who.role != "admin" and row["token_id"] != who.token_id:
            raise ApiError("not_permitted", f"saved by {row['author']}", "an admin may delete it")
        self._catalogue.write("DELETE FROM saved WHERE saved_id = ?", (saved_id,))


def _clean(name: str) -> str:
    kept = " ".join("".join(char if char.isprintable() else " " for char in name).split())
    if not kept:
        raise ApiError("usage", "the name is empty")
    return kept


def _taken(kind: str, name: str) -> ApiError:
    return ApiError("conflict", f"there is a {kind} called {name}", "give another name, or replace that one")
