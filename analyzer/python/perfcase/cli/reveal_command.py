"""perfcase reveal: pseudonyms translated back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from perfcase.errors import PerfcaseError
from perfcase.redaction.pseudonyms import Pseudonyms


def command(
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT|FILE", help="A text, a file with text, or - for standard input.", show_default=False
        ),
    ],
    key: Annotated[
        Path, typer.Option("--key", metavar="KEY", help="The key file that perfcase redact wrote.", show_default=False)
    ],
) -> None:
    """Translate pseudonyms of a redacted capture back: in a text, or in a file with an answer.

    A word that is no pseudonym of this key stays as it is. FILE must be text; a capture is not translated.

    \b
    Example: perfcase reveal answer.txt --key redacted.perfcase.key
             perfcase report redacted.perfcase | perfcase reveal --key redacted.perfcase.key -
    """
    pseudonyms = Pseudonyms.read(key)
    sys.stdout.flush()
    sys.stdout.buffer.write(pseudonyms.reveal(_bytes(text)))
    sys.stdout.buffer.flush()


def _bytes(text: str) -> bytes:
    if text == "-":
        return sys.stdin.buffer.read()
    try:
        path = Path(text)
        if not path.is_file():
            return text.encode("utf-8", "surrogateescape") + b"\n"
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, PermissionError):
            raise PerfcaseError("not_permitted", f"{text}: this user may not read it") from None
        # Longer than a name of a file may be, say: it is a text.
        return text.encode("utf-8", "surrogateescape") + b"\n"
    if b"\0" in data[:4096]:
        raise PerfcaseError("input", f"{text}: not a text", "give the answer of a command, not a capture")
    return data
