"""Routes of notes: on a capture, on a part of its time, on a finding."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, Field

from perfcase.catalogue.rules import load_rules
from perfcase_api.catalogue import Row, now_ns
from perfcase_api.errors import ApiError
from perfcase_api.routes.captures import After, AtMost, CaptureId
from perfcase_api.state import Here, Me

router = APIRouter(prefix="/v1/captures", tags=["captures"])

NOTES_MAX = 1000
"""A capture has at most so many."""

Time = Annotated[
    int | None, Field(ge=0, lt=1 << 62, description="ns since the beginning of the recording", examples=[1_500_000_000])
]


class NewNote(BaseModel):
    """A note."""

    text: str = Field(min_length=1, max_length=20_000, examples=["the batch job of the neighbour"])
    start_ns: Time = None
    end_ns: Time = None
    finding: str | None = Field(None, max_length=100, description="the name of a rule", examples=["cpu_saturation"])


class Note(BaseModel):
    """A note with its author and time."""

    note_id: int
    author: str
    text: str
    start_ns: int | None = Field(description="the part of the recording that it is about; null: all of it")
    end_ns: int | None
    finding: str | None = Field(description="the rule that it is about; null: none")
    written_ns: int = Field(description="ns since 1970")


@router.get("/{capture_id}/notes")
def list_notes(here: Here, me: Me, capture_id: CaptureId, limit: AtMost = 1000, offset: After = 0) -> list[Note]:
    """List the notes, the oldest first. One may belong to a part of the recording's time, to a finding, or to both."""
    here.capture(me, capture_id)
    rows = here.catalogue.rows(
        "SELECT * FROM note WHERE capture_id = ? ORDER BY note_id LIMIT ? OFFSET ?", (capture_id, limit, offset)
    )
    return [_note(row) for row in rows]


@router.post("/{capture_id}/notes", status_code=201)
def add_note(here: Here, me: Me, capture_id: CaptureId, note: NewNote) -> Note:
    """Add a note: on the capture, from ``start_ns`` to ``end_ns`` of it, or on a finding."""
    me.needs("uploader")
    capture = here.capture(me, capture_id)
    _check(note, capture["duration_ns"])
    with here.catalogue.writing() as db:
        (count,) = db.execute("SELECT count(*) FROM note WHERE capture_id = ?", (capture_id,)).fetchone()
        if count >= NOTES_MAX:
            raise ApiError("too_large", f"the capture has {count} notes, the most that it may have", "delete some")
        number = db.execute(
            "INSERT INTO note (capture_id, author, text, written_ns, start_ns, end_ns, finding, token_id)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (capture_id, me.name, note.text, now_ns(), note.start_ns, note.end_ns, note.finding, me.token_id),
        ).lastrowid
    row = here.catalogue.row("SELECT * FROM note WHERE note_id = ?", (number,))
    assert row is not None
    return _note(row)


@router.delete("/{capture_id}/notes/{note_id}", status_code=204)
def delete_note(
    here: Here,
    me: Me,
    capture_id: CaptureId,
    note_id: Annotated[int, Path(ge=1, lt=1 << 62, description="As the list of notes has it.")],
) -> Response:
    """Delete a note. An uploader can delete what was written with the same token."""
    me.needs("uploader")
    here.capture(me, capture_id)
    row = here.catalogue.row("SELECT * FROM note WHERE note_id = ? AND capture_id = ?", (note_id, capture_id))
    if row is None:
        raise ApiError("not_found", f"there is no note {note_id}", f"GET /v1/captures/{capture_id}/notes lists them")
    if me.role != "admin" and row["token_id"] != me.token_id:
        raise ApiError("not_permitted", f"written by {row['author']}", "an admin may delete it")
    here.catalogue.write("DELETE FROM note WHERE note_id = ?", (note_id,))
    return Response(status_code=204)


def _check(note: NewNote, duration_ns: int | None) -> None:
    """Refuse a note that belongs to nothing in a recording of this length."""
    if not note.text.strip():
        raise ApiError("usage", "the note is empty")
    if (note.start_ns is None) != (note.end_ns is None):
        raise ApiError("usage", "start_ns and end_ns belong together", "give both, or neither")
    if note.start_ns is not None and note.end_ns is not None:
        if note.start_ns >= note.end_ns:
            raise ApiError("usage", "end_ns is not after start_ns")
        if duration_ns is not None and note.start_ns >= duration_ns:
            raise ApiError("usage", f"the recording has {duration_ns} ns, the note begins at {note.start_ns}")
    if note.finding is not None and note.finding not in load_rules():
        raise ApiError("usage", f"there is no rule {note.finding[:80]}", "docs/findings.md lists them")


def _note(row: Row) -> Note:
    return Note(**{name: row[name] for name in Note.model_fields})
