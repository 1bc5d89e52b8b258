"""Checks an archive while it arrives: each member against the checksum that the manifest has of it.

The container is specified in schema/README.md. Files that are no archives (perf.data, trace.dat) have no checksums and pass.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

_BLOCK = 512
_MANIFEST_MAX = 64 << 20
_MAGIC = b"ustar\0"


@dataclass
class Archive:
    """What has been seen of an arriving file. ``feed`` it all bytes in order, then ask ``ended``."""

    damage: list[str] = field(default_factory=list)
    """What does not agree, in words; each names the member and its offset in the file."""
    manifest: dict[str, Any] | None = None
    _offset: int = 0
    _pending: bytes = b""
    _expected: dict[str, str] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)
    # Of the member at hand: its name, where it began, its bytes still to come with and without padding.
    _name: str | None = None
    _began: int = 0
    _left: int = 0
    _padding: int = 0
    _hash: Any = None
    _text: bytearray | None = None
    _is_other: bool = False
    _is_over: bool = False

    def feed(self, data: bytes) -> None:
        """The next bytes of the file."""
        at = 0
        while at < len(data) and not self._is_other and not self._is_over:
            if self._left:
                at += self._member(data[at : at + self._left])
            elif self._padding:
                skipped = min(self._padding, len(data) - at)
                self._padding -= skipped
                at += skipped
            else:
                taken = data[at : at + _BLOCK - len(self._pending)]
                self._pending += taken
                at += len(taken)
                if len(self._pending) == _BLOCK:
                    block, self._pending = self._pending, b""
                    self._header(block, self._offset + at - _BLOCK)
        self._offset += len(data)

    def ended(self) -> None:
        """The file is complete: what of it is missing?"""
        if self._is_other or (self.manifest is None and not self._seen and not self._name):
            return
        if not self._is_over:
            self.damage.append(f"the archive is cut at byte {self._offset}")
        missing = sorted(self._expected.keys() - self._seen)
        if missing:
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            self.damage.append(f"missing: {', '.join(missing[:3])}{more}")

    def _header(self, block: bytes, offset: int) -> None:
        is_first = offset == 0
        if not any(block):
            self._is_over = True
            return
        if is_first and (block[257:263] != _MAGIC or _text(block[:100]) != "manifest.json"):
            self._is_other = True
            return
        total = sum(block) - sum(block[148:156]) + 8 * ord(" ")
        size = _number(block[124:136])
        if block[257:263] != _MAGIC or _number(block[148:156]) != total or size is None:
            self.damage.append(f"byte {offset}: not the header of a member")
            self._is_over = True
            return
        prefix = _text(block[345:500])
        self._name = f"{prefix}/{_text(block[:100])}" if prefix else _text(block[:100])
        self._began, self._left, self._padding = offset, size, -size % _BLOCK
        self._hash = hashlib.sha256()
        self._text = bytearray() if is_first and size <= _MANIFEST_MAX else None
        if not size:
            self._complete()

    def _member(self, data: bytes) -> int:
        self._hash.update(data)
        if self._text is not None:
            self._text += data
        self._left -= len(data)
        if not self._left:
            self._complete()
        return len(data)

    def _complete(self) -> None:
        name, self._name = self._name or "", None
        if self.manifest is None:
            self._read_manifest()
            return
        self._seen.add(name)
        wanted = self._expected.get(name)
        if wanted is not None and wanted != self._hash.hexdigest():
            self.damage.append(f"{name} at byte {self._began}: its checksum is not the manifest's")

    def _read_manifest(self) -> None:
        self.manifest = {}
        try:
            read = json.loads(self._text or b"")
            members = read["members"]
            self._expected = {str(member["path"]): str(member["sha256"]) for member in members if member.get("sha256")}
            self.manifest = read
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self.damage.append("manifest.json cannot be read")


def _text(field_: bytes) -> str:
    return field_.split(b"\0", 1)[0].decode("utf-8", "replace")


def _number(field_: bytes) -> int | None:
    """Octal digits, or base 256 behind a first byte of 0x80."""
    if field_[:1] == b"\x80":
        return int.from_bytes(field_[1:], "big")
    digits = field_.strip(b" \0")
    try:
        return int(digits, 8) if digits else None
    except ValueError:
        return None
