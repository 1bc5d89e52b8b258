"""Notes on a capture, on a part of its time, on a finding; in the summary for the ticket."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import httpx
import pytest

from perfcase_api.routes.notes import NOTES_MAX
from tests.api.conftest import SAMPLES, Running, upload
from tests.api.test_access import token

COUNTS_CAPTURES = True
HOSTILE = "<script>alert(1)</script>\n```\n# not a heading\n[link](javascript:alert(1)) \u202ehidden"


@pytest.fixture
def notes(admin: httpx.Client, tcp: str):
    """The route of the notes of a capture that has none."""
    place = f"/v1/captures/{tcp}/notes"
    for note in admin.get(place).json():
        admin.delete(f"{place}/{note['note_id']}")
    return place


def test_where_a_note_belongs(admin: httpx.Client, notes: str) -> None:
    given = [
        {"text": "all of it"},
        {"text": "here", "start_ns": 1_000_000_000, "end_ns": 2_500_000_000},
        {"text": "this", "finding": "delayed_ack"},
        {"text": "both", "start_ns": 0, "end_ns": 1, "finding": "delayed_ack"},
    ]
    made = [admin.post(notes, json=each).json() for each in given]
    assert admin.get(notes).json() == made
    for each, one in zip(given, made, strict=True):
        assert one == {"start_ns": None, "end_ns": None, "finding": None, **each,
                       "note_id": one["note_id"], "author": "first admin", "written_ns": one["written_ns"]}  # fmt: skip


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"start_ns": 1}, "belong together"),
        ({"end_ns": 1}, "belong together"),
        ({"start_ns": 5, "end_ns": 5}, "is not after"),
        ({"start_ns": 1 << 60, "end_ns": (1 << 60) + 1}, "the recording has"),
        ({"start_ns": -1, "end_ns": 5}, "start_ns"),
        ({"start_ns": 1, "end_ns": 1 << 62}, "end_ns"),
        ({"finding": "no_such_rule"}, "there is no rule no_such_rule"),
        ({"text": " \n"}, "the note is empty"),
        ({"text": "x" * 20_001}, "text"),
    ],
)
def test_what_is_no_note(admin: httpx.Client, notes: str, more: dict, why: str) -> None:
    refused = admin.post(notes, json={"text": "x", **more})
    assert refused.status_code == 400
    assert why in refused.json()["error"]["message"]
    assert admin.get(notes).json() == []


def test_who_may_delete(server: Running, admin: httpx.Client, notes: str) -> None:
    with (
        server.client(token(admin, "uploader")["secret"]) as one,
        server.client(token(admin, "uploader")["secret"]) as two,
        server.client(token(admin, "uploader", "OTHER-")["secret"]) as stranger,
    ):
        places = [f"{notes}/{one.post(notes, json={'text': 'x'}).json()['note_id']}" for _ in range(2)]
        assert two.delete(places[0]).status_code == 403
        assert stranger.delete(places[0]).status_code == 404
        assert one.delete(places[0]).status_code == 204
        assert one.delete(places[0]).status_code == 404
        assert admin.delete(places[1]).status_code == 204
    other = upload(admin, SAMPLES / "d-nagle" / "pipe.perfcase")
    number = admin.post(notes, json={"text": "x"}).json()["note_id"]
    assert admin.delete(f"/v1/captures/{other}/notes/{number}").status_code == 404, "of another capture"


def test_notes_are_in_the_summary(admin: httpx.Client, tcp: str, notes: str) -> None:
    """As text, first of all, with who and when and where; a new one changes the page at once."""
    place = f"/v1/captures/{tcp}/summary"
    assert "## Notes" not in admin.get(place).text
    admin.post(
        notes, json={"text": HOSTILE, "start_ns": 1_500_000_000, "end_ns": 2_000_000_000, "finding": "delayed_ack"}
    )
    admin.post(notes, json={"text": "x" * 5000 + "END"})
    markdown = admin.get(place, params={"to": "md"}).text
    section = markdown[markdown.index("## Notes") : markdown.index("## ", markdown.index("## Notes") + 5)]
    assert section == markdown[len("# perfcase summary\n\n") :][: len(section)], "the first section"
    assert section.splitlines()[2] == "````text", "longer than the run of backticks in it"
    assert "from 1.500 to 2.000 s of the recording, finding delayed_ack" in section
    assert "<script>alert(1)</script>" in section
    assert "\u202e" not in markdown
    assert section.replace("\n", "").count("x") >= 5000
    assert "END" in section
    html = admin.get(place, params={"to": "html"}).text
    assert '<h2 id="s1">Notes</h2>' in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "<script>alert" not in html
    assert "\u202e" not in html
    assert "xEND" in html
    for note in admin.get(notes).json():
        admin.delete(f"{notes}/{note['note_id']}")
    assert "## Notes" not in admin.get(place).text


def test_there_is_an_end_of_notes(server: Running, admin: httpx.Client, tcp: str, notes: str) -> None:
    """And of what the summary has of them, which says how many it has not."""
    texts = [f"note {number} " + "y" * 400 for number in range(NOTES_MAX)]
    assert admin.post(notes, json={"text": texts[0]}).status_code == 201
    # Each request waits for the disk: all but the first and the last are written at once.
    with closing(sqlite3.connect(server.store / "catalogue.sqlite3")) as db, db:
        db.executemany(
            "INSERT INTO note (capture_id, author, text, written_ns) SELECT capture_id, author, ?, written_ns FROM note WHERE text = ?",
            [(text, texts[0]) for text in texts[1:-1]],
        )
    assert admin.post(notes, json={"text": texts[-1]}).status_code == 201
    assert admin.post(notes, json={"text": "one more"}).status_code == 413
    html = admin.get(f"/v1/captures/{tcp}/summary", params={"to": "html"}).text
    assert "note 0 yy" in html
    shown = sum(f"note {number} y" in html for number in range(NOTES_MAX))
    assert f"and {NOTES_MAX - shown} more notes on the server" in html
