"""Takes a capture, or what was found in it, to a ticket. A tracker is an adapter: one module here, or another package's.

An adapter is a class with ``Tracker``'s methods, in ``perfcase.attach.<name>`` as ``Adapter``, or an entry point of the group
``perfcase.tracker``. It gets the address of the tracker and the credentials, and sends by ``perfcase.server_client.web``.
"""

from __future__ import annotations

import base64
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol

from perfcase.errors import PerfcaseError

BUILT_IN = ("roundup", "webhook")
CREDENTIALS = "PERFCASE_TRACKER_CREDENTIALS"
"""The environment variable that holds USER:PASSWORD, or a token."""
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Attachment:
    """A file to be sent: bytes at hand, or a file of any size."""

    name: str
    media: str
    content: bytes | Path

    @property
    def size_bytes(self) -> int:
        """How many bytes there are."""
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size

    def chunks(self) -> Iterator[bytes]:
        """Yield all of them."""
        if isinstance(self.content, bytes):
            yield self.content
            return
        with self.content.open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk


class Tracker(Protocol):
    """What an adapter can do."""

    def __init__(self, url: str, authorization: str | None) -> None:
        """Keep the address and the value of the header ``authorization``."""

    def plan(self, issue: str, text: str, attachment: Attachment) -> list[str]:
        """Return the requests that ``attach`` would make, one line each."""

    def attach(self, issue: str, text: str, attachment: Attachment) -> str:
        """Add a message and a file to an issue. Return the address to look at."""


def adapter(name: str) -> type[Tracker]:
    """Return an adapter by its name."""
    if name in BUILT_IN:
        return import_module(f"perfcase.attach.{name}").Adapter
    others = entry_points(group="perfcase.tracker")
    if name in others.names:
        return others[name].load()
    known = ", ".join(sorted({*BUILT_IN, *others.names}))
    raise PerfcaseError("not_found", f"there is no adapter {name}", f"there are: {known}")


def authorization(file: Path | None) -> str | None:
    """Return the value of the header, from a file or the environment. The command line is not used, because every user of the machine can read it."""
    if file is not None:
        try:
            mode = file.stat().st_mode
            given = file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise PerfcaseError(
                "input", f"{file}: cannot be read: {error}", "a file with USER:PASSWORD or a token"
            ) from error
        if mode & (stat.S_IROTH | stat.S_IWOTH):
            raise PerfcaseError(
                "not_permitted", f"{file}: other users of this machine can read it", f"chmod 600 {file}"
            )
    else:
        given = os.environ.get(CREDENTIALS, "").strip()
    if not given:
        return None
    if not given.isprintable():
        raise PerfcaseError("usage", "the credentials hold a line break", "one line: USER:PASSWORD or a token")
    return f"Basic {base64.b64encode(given.encode()).decode()}" if ":" in given else f"Bearer {given}"


def form(fields: dict[str, str], name: str, attachment: Attachment) -> tuple[Iterable[bytes], dict[str, str]]:
    """Return a multipart form of fields and one file, and its headers. The file is not held in memory."""
    boundary = secrets.token_hex(16)
    head = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'
        for key, value in fields.items()
    )
    file_name = "".join(char if char.isprintable() and char not in '"\\' else "_" for char in attachment.name)
    head += (
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{file_name}"\r\n'
        f"Content-Type: {attachment.media}\r\n\r\n"
    )
    first, last = head.encode(), f"\r\n--{boundary}--\r\n".encode()

    def body() -> Iterator[bytes]:
        yield first
        yield from attachment.chunks()
        yield last

    return body(), {
        "Content-Type": f"multipart/form-data; boundary={boundary}",
        "Content-Length": str(len(first) + attachment.size_bytes + len(last)),
    }
