"""Uploads: a file arrives in parts, is checked while it arrives, and becomes a capture when it is complete.

Only the size of the partial file says how far an upload is, so it can always be resumed. The folder of a capture
has the name of its capture_id, which its tables also have (``identity``). The file is synced and linked into the folder before the catalogue
has an entry. If the server is killed between the two, its next start repairs this (``recover``).
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from perfcase.case import store, wholeness
from perfcase_api import checking, storage
from perfcase_api.catalogue import Catalogue, Row, now_ns
from perfcase_api.checking import Check, Checked
from perfcase_api.errors import ApiError, of_disk
from perfcase_api.settings import Settings
from perfcase_api.who import Who

_DAMAGE_MAX = 100
NAME_MAX = 200
LABEL_MAX, LABELS_MAX = 100, 100
_MADE_MAX = 1000


def clean_name(name: str) -> str:
    """Return a file name for people: the last part, without what a terminal or a page might take for more than text."""
    last = re.split(r"[/\\]", name)[-1]
    kept = "".join(char for char in last if char.isprintable())[:NAME_MAX].strip().lstrip(".")
    return kept or "capture"


@dataclass
class _Arriving:
    """What is known of an upload that arrives. After a restart it is found out again."""

    checked: Checked = field(default_factory=Checked)
    unchecked_bytes: int = 0
    has_looked: bool = False
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    is_cancelled: bool = False


@dataclass(frozen=True)
class Made:
    """The capture of an upload that is complete."""

    capture_id: str
    is_new: bool
    """False: the same file was here before."""
    token_id: int | None


class Uploads:
    """The uploads and the files of a store."""

    def __init__(self, settings: Settings, catalogue: Catalogue, check: Check) -> None:
        self._settings = settings
        self._catalogue = catalogue
        self._check = check
        self._arriving: dict[str, _Arriving] = {}
        self._made: OrderedDict[str, Made] = OrderedDict()
        self._placing = threading.Lock()
        self.parts = settings.store / "uploads"
        self.captures = settings.store / "captures"
        for folder in (self.parts, self.captures):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def file(self, capture_id: str) -> Path:
        """Return the original of a capture."""
        return self.captures / capture_id / "original"

    def case(self, capture_id: str) -> Path:
        """Return the import of a capture."""
        return self.captures / capture_id / "case"

    def begin(
        self,
        who: Who,
        name: str,
        size_bytes: int,
        ticket: str,
        *,
        labels: Sequence[str] = (),
        accept_damaged: bool,
        is_redacted: bool | None = None,
        is_one_request: bool = False,
    ) -> Row:
        """Return a new upload. ``is_redacted``: what the client says of its manifest, None if it says nothing.

        ``is_one_request``: the client does not learn its id, and cannot go on with it.
        """
        who.needs("uploader")
        if is_redacted is False:
            self._refuse_unredacted(name)
        if ticket and not who.sees(ticket):
            raise ApiError("not_permitted", f"ticket {ticket} is not in scope", f"yours begin with {who.ticket_prefix}")
        limits = self._settings.limits
        if size_bytes > limits.upload_bytes:
            raise ApiError("too_large", f"a capture may have {limits.upload_bytes:,} bytes, this has {size_bytes:,}")
        with self._catalogue.writing() as db:
            held, begun = db.execute(
                "SELECT (SELECT coalesce(sum(size_bytes), 0) FROM capture WHERE token_id IS :token)"
                " + (SELECT coalesce(sum(size_bytes), 0) FROM upload WHERE token_id IS :token),"
                " (SELECT count(*) FROM upload WHERE token_id IS :token)",
                {"token": who.token_id},
            ).fetchone()
            if begun >= limits.uploads_of_user:
                raise ApiError("conflict", f"{begun} uploads are not finished",
                               f"finish them, DELETE some, or wait: one that gets no bytes for {_told(limits.unfinished_seconds)} is forgotten")  # fmt: skip
            if held + size_bytes > limits.quota_bytes:
                raise ApiError("too_large", f"{held:,} of {limits.quota_bytes:,} bytes are used", "delete captures")
            upload_id = secrets.token_hex(16)
            db.execute(
                "INSERT INTO upload VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (upload_id, clean_name(name), ticket, size_bytes, int(accept_damaged), who.token_id, now_ns(),
                 who.ticket_prefix, json.dumps(list(labels)), int(is_one_request)),
            )  # fmt: skip
        return self.find(who, upload_id)

    def find(self, who: Who, upload_id: str) -> Row:
        """Return an upload of this user; an admin finds all in scope."""
        row = self._catalogue.row("SELECT * FROM upload WHERE upload_id = ?", (upload_id,))
        is_theirs = row is not None and (
            row["token_id"] == who.token_id or (who.role == "admin" and who.sees(row["ticket_prefix"]))
        )
        if row is None or not is_theirs:
            raise ApiError("not_found", f"there is no upload {upload_id}", "POST /v1/uploads begins one")
        return row

    def offset(self, upload_id: str) -> int:
        """Return the number of bytes that have arrived."""
        try:
            return (self.parts / upload_id).stat().st_size
        except FileNotFoundError:
            return 0

    async def append(self, upload: Row, offset: int, data: AsyncIterator[bytes]) -> Made | None:
        """Add bytes at ``offset``, which must be the end. Return the capture if the file is whole now."""
        upload_id = upload["upload_id"]
        arriving = self._arriving.setdefault(upload_id, _Arriving())
        if arriving.lock.locked():
            raise ApiError("conflict", "another request is sending this upload", "wait for it, then ask how far it is")
        async with arriving.lock:
            path = self.parts / upload_id
            size = self.offset(upload_id)
            if offset != size:
                raise ApiError("conflict", f"{size} bytes are there, these begin at {offset}",
                               "GET the upload: it says where to go on")  # fmt: skip
            with _opened(path) as file:
                async for chunk in data:
                    _go_on(arriving)
                    if size + len(chunk) > upload["size_bytes"]:
                        raise ApiError("too_large", f"more than the {upload['size_bytes']:,} bytes that were announced")
                    if storage.is_full(self.parts):
                        raise of_disk(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
                    try:
                        _write(file, chunk)
                    except OSError as error:
                        raise of_disk(error) from error
                    size += len(chunk)
                    arriving.unchecked_bytes += len(chunk)
                    if arriving.unchecked_bytes >= self._look_bytes(arriving):
                        await self._look(upload, arriving, is_whole=False)
            is_whole = size == upload["size_bytes"]
            await self._look(upload, arriving, is_whole=is_whole)
            _go_on(arriving)
            if not is_whole:
                return None
            made = await asyncio.to_thread(self._finish, upload, arriving.checked)
            self._arriving.pop(upload_id, None)
            self._made[upload_id] = made
            if len(self._made) > _MADE_MAX:
                self._made.popitem(last=False)
            return made

    async def cancel(self, who: Who, upload_id: str) -> Made | None:
        """Forget an upload and remove what has arrived. Return its capture if it is complete: that is for the caller to remove.

        A request may be sending it: it ends with an error, unless it makes the capture just now.
        """
        made = self._made.get(upload_id)
        if made is None or made.token_id != who.token_id:
            self.find(who, upload_id)
            arriving = self._arriving.setdefault(upload_id, _Arriving())
            arriving.is_cancelled = True
            async with arriving.lock:
                made = self._made.get(upload_id)
                if made is None:
                    self.abort(upload_id)
        return made

    def abort(self, upload_id: str) -> None:
        """Forget an upload and remove what has arrived."""
        self._catalogue.write("DELETE FROM upload WHERE upload_id = ?", (upload_id,))
        (self.parts / upload_id).unlink(missing_ok=True)
        self._arriving.pop(upload_id, None)

    def expire(self) -> list[str]:
        """Forget the uploads that got no bytes for too long. Return messages. It runs between requests: on the server's event loop."""
        before_ns = now_ns() - int(self._settings.limits.unfinished_seconds * 1e9)
        notes = []
        for row in self._catalogue.rows("SELECT * FROM upload WHERE created_ns < ?", (before_ns,)):
            arriving = self._arriving.get(row["upload_id"])
            if self._last_ns(row) < before_ns and not (arriving and arriving.lock.locked()):
                notes.append(self._forgotten(row, f"no bytes for {_told(self._settings.limits.unfinished_seconds)}"))
        return notes

    def _last_ns(self, upload: Row) -> int:
        """Return when bytes of an upload came last."""
        try:
            return max(upload["created_ns"], (self.parts / upload["upload_id"]).stat().st_mtime_ns)
        except FileNotFoundError:
            return upload["created_ns"]

    def _forgotten(self, upload: Row, why: str) -> str:
        arrived = self.offset(upload["upload_id"])
        self.abort(upload["upload_id"])
        return f"upload {upload['name']}: {arrived:,} of {upload['size_bytes']:,} bytes came; removed: {why}"

    def forget(self, capture_id: str) -> None:
        """Delete a capture from the catalogue. ``remove`` deletes its files, now or at the next start of the server."""
        self._forget(capture_id, "")

    def forget_new(self, capture_id: str) -> bool:
        """Do the same with a capture whose first import has not ended; return whether it was one."""
        return self._forget(capture_id, " AND is_new AND state IN ('uploaded', 'importing')")

    def _forget(self, capture_id: str, condition: str) -> bool:
        with self._catalogue.writing() as db:
            gone = db.execute(f"DELETE FROM capture WHERE capture_id = ?{condition}", (capture_id,)).rowcount > 0
            if gone or not condition:
                db.execute("INSERT OR IGNORE INTO deleted VALUES (?)", (capture_id,))
        return gone

    def remove(self, capture_id: str) -> None:
        """Remove the files of a capture that was forgotten, if it was not uploaded again meanwhile."""
        with self._placing:
            if not self._catalogue.row("SELECT 1 FROM deleted WHERE capture_id = ?", (capture_id,)):
                return
            folder = self.captures / capture_id
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                self._catalogue.write("DELETE FROM deleted WHERE capture_id = ?", (capture_id,))

    def recover(self) -> list[str]:
        """Recover after a kill: remove what was deleted, restart interrupted imports, put unknown files aside. Return messages.

        A catalogue that is lost, or older than the captures, is no reason to delete one.
        """
        for row in self._catalogue.rows("SELECT capture_id FROM deleted"):
            self.remove(row["capture_id"])
        self._catalogue.write("UPDATE capture SET state = 'uploaded' WHERE state = 'importing'")
        return [*self._recover_captures(), *self._recover_uploads(), *self._recover_parts()]

    def _recover_captures(self) -> list[str]:
        notes = []
        known = {row["capture_id"] for row in self._catalogue.rows("SELECT capture_id FROM capture")}
        arriving = {row["upload_id"] for row in self._catalogue.rows("SELECT upload_id FROM upload")}
        parts = {part.stat().st_ino for part in self.parts.iterdir() if part.name in arriving}
        for folder in sorted(self.captures.iterdir()):
            if folder.name in known:
                continue
            original = folder / "original"
            # A client that did not get the end of its upload can send it again: the partial file is there.
            if not original.exists() or original.stat().st_ino in parts:
                shutil.rmtree(folder, ignore_errors=True)
            else:
                notes.append(self._put_aside(folder))
        for capture_id in sorted(known):
            if not self.file(capture_id).exists() and not self.case(capture_id).exists():
                self._catalogue.write(
                    "UPDATE capture SET state = 'failed', reason = 'its files are missing from the store'"
                    " WHERE capture_id = ?",
                    (capture_id,),
                )
                notes.append(f"{self.captures / capture_id}: missing; the catalogue says that it is there")
        return notes

    def _recover_uploads(self) -> list[str]:
        """Forget the uploads that nobody can go on with, and those that are too old."""
        lost = self._catalogue.rows("SELECT * FROM upload WHERE is_one_request")
        return [
            *(self._forgotten(row, "the server ended while it came, in one request") for row in lost),
            *self.expire(),
        ]

    def _recover_parts(self) -> list[str]:
        notes = []
        arriving = {row["upload_id"] for row in self._catalogue.rows("SELECT upload_id FROM upload")}
        for part in sorted(self.parts.iterdir()):
            if part.name in arriving:
                continue
            # A second name is that of a capture, whose upload was finished.
            if part.stat().st_nlink > 1 or not part.stat().st_size:
                part.unlink()
            else:
                notes.append(self._put_aside(part))
        return notes

    def _put_aside(self, path: Path) -> str:
        """Move what the catalogue does not know to lost+found. Return a message."""
        aside = self._settings.store / "lost+found"
        aside.mkdir(exist_ok=True, mode=0o700)
        target = aside / path.name
        number = 1
        while target.exists():
            number += 1
            target = aside / f"{path.name}.{number}"
        path.rename(target)
        return f"{path}: the catalogue does not know it; moved to {target}"

    def _look_bytes(self, arriving: _Arriving) -> int:
        """Return after how many bytes it is looked at next. What is not redacted may not be here: the first look is an early one."""
        is_early = self._settings.only_redacted and not arriving.has_looked
        return checking.FIRST_LOOK_BYTES if is_early else checking.LOOK_BYTES

    def _refuse_unredacted(self, name: str, upload_id: str | None = None) -> None:
        """Refuse a capture that is not redacted, where only others are taken; what has arrived of it is gone."""
        if not self._settings.only_redacted:
            return
        if upload_id is not None:
            self.abort(upload_id)
        notes = f"{clean_name(name)}: this server takes only captures that are redacted"
        raise ApiError("not_permitted", notes, "perfcase redact FILE -o OUT, and send OUT")

    async def _look(self, upload: Row, arriving: _Arriving, *, is_whole: bool) -> None:
        """Compare what has arrived since the last look with the manifest; what is refused is gone."""
        seen = arriving.checked
        found = await self._check(self.parts / upload["upload_id"], seen.checked_bytes, is_whole)
        damage = tuple(dict.fromkeys((*seen.damage, *found.damage)))[:_DAMAGE_MAX]
        arriving.checked = replace(found, damage=damage)
        arriving.unchecked_bytes, arriving.has_looked = 0, True
        if damage and not upload["accept_damaged"]:
            self.abort(upload["upload_id"])
            raise ApiError(
                "input",
                f"{upload['name']}: {damage[0]}",
                "send it again; if the file itself is damaged, with accept_damaged",
            )
        if found.is_redacted is False or (is_whole and not found.is_redacted):
            self._refuse_unredacted(upload["name"], upload["upload_id"])
        # The manifest is untrusted too. Without a ticket a capture is out of every scope.
        prefix, ticket = upload["ticket_prefix"], upload["ticket"] or clean_ticket(found.ticket)
        if (ticket or is_whole) and not ticket.startswith(prefix):
            self.abort(upload["upload_id"])
            notes = f"ticket {ticket} is not in scope" if ticket else "the capture has no ticket"
            raise ApiError("not_permitted", notes, f"give one that begins with {prefix}, with ticket")

    def _finish(self, upload: Row, checked: Checked) -> Made:
        part = self.parts / upload["upload_id"]
        try:
            wholeness.flush_one(part)
        except OSError as error:
            # The kernel says so once: a second flush would succeed, and bytes would be missing.
            self.abort(upload["upload_id"])
            raise of_disk(error, hint="send it again") from error
        capture_id = identity(store.import_core().hash_file(str(part)), upload["ticket_prefix"])
        with self._placing:
            try:
                is_new = self._place(upload, checked, part, capture_id)
            except BaseException:
                if not self._catalogue.row("SELECT 1 FROM capture WHERE capture_id = ?", (capture_id,)):
                    shutil.rmtree(self.captures / capture_id, ignore_errors=True)
                raise
        # The capture is there. What stays of the part is a second name of its file, which the next start removes.
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        return Made(capture_id, is_new, upload["token_id"])

    def _place(self, upload: Row, checked: Checked, part: Path, capture_id: str) -> bool:
        """Return whether the capture is new."""
        folder = self.captures / capture_id
        folder.mkdir(exist_ok=True, mode=0o700)
        target = self.file(capture_id)
        # A second name and not a move: until the row is there, the part is what the client can go on from.
        if not target.exists():
            os.link(part, target)
        target.chmod(0o400)
        for place in (folder, self.captures):
            wholeness.flush_one(place)
        ticket = upload["ticket"] or clean_ticket(checked.ticket)
        with self._catalogue.writing() as db:
            placed = db.execute(
                "INSERT INTO capture (capture_id, name, size_bytes, ticket, state, damage, uploaded_ns, token_id, is_new)"
                " VALUES (?, ?, ?, ?, 'uploaded', ?, ?, ?, 1) ON CONFLICT DO NOTHING",
                (capture_id, upload["name"], upload["size_bytes"], ticket, "; ".join(checked.damage) or None, now_ns(),
                 upload["token_id"]),
            )  # fmt: skip
            is_new = placed.rowcount > 0
            if is_new:
                labels = json.loads(upload["labels"])
                db.executemany("INSERT OR IGNORE INTO label VALUES (?, ?)", [(capture_id, label) for label in labels])
            (held,) = db.execute("SELECT ticket FROM capture WHERE capture_id = ?", (capture_id,)).fetchone()
            if not held.startswith(upload["ticket_prefix"]):
                raise ApiError(
                    "conflict", "uploaded before, and moved to a ticket that is not in scope", "ask an admin"
                )
            db.execute("DELETE FROM deleted WHERE capture_id = ?", (capture_id,))
            db.execute("DELETE FROM upload WHERE upload_id = ?", (upload["upload_id"],))
        return is_new


def _go_on(arriving: _Arriving) -> None:
    if arriving.is_cancelled:
        raise ApiError("conflict", "the upload was cancelled")


def identity(file_hash: str, ticket_prefix: str) -> str:
    """Return the id of a capture: the hash of its file, for each scope another one.

    Who sees a part of the tickets shares captures with those who see the same part. With nobody else: that a file is there
    already, and its state, would be visible to anyone who has a copy.
    """
    return hashlib.sha256(f"{ticket_prefix}\0{file_hash}".encode()).hexdigest() if ticket_prefix else file_hash


def _opened(path: Path) -> BinaryIO:
    """Open a part at its end. Nothing is buffered: what a full disk refused would be written once more when the file is closed."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600), "ab", buffering=0)


def _write(file: BinaryIO, chunk: bytes) -> None:
    left = memoryview(chunk)
    while left:
        left = left[file.write(left) :]


def _told(seconds: float) -> str:
    days = seconds / 86_400
    return f"{days:g} days" if days >= 1 else f"{seconds:g} s"


def clean_ticket(ticket: str) -> str:
    """Return a ticket's number as it is kept: printable, short."""
    return "".join(char for char in ticket if char.isprintable())[:NAME_MAX].strip()
