"""Pseudonyms: the same value has the same one wherever it stands, made with a key that stays with its owner."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import re
import secrets
from pathlib import Path
from typing import Any

from perfcase.case.store import import_core
from perfcase.errors import PerfcaseError

_FORMAT = "perfcase-key"
_KEY_BYTES = 32
_LETTERS = b"abcdefghijklmnopqrstuvwxyz"
_SIGNS = _LETTERS + b"0123456789"
_MORE_LETTERS = _LETTERS + _LETTERS.upper()
_MORE_SIGNS = _SIGNS + _LETTERS.upper()
_SHORT = 3
"""A pseudonym of so many bytes may also be an ordinary word: it is translated back only as a part of a known text."""
_SUFFIX = re.compile(rb"\.(?:so(?:\.[0-9.]+)?|ko|jar|py|slice|scope|service|mount|socket)\Z")
"""Ends of names that say what a thing is: views tell a library and a slice by them."""
_TRIES_MAX = 10_000
_KERNEL = (0xFFFF_0000_0000_0000, 0xFFFF_FFFF_FF00_0000)
"""Addresses of the kernel are from the first to below the second."""
_SHIFT_UNIT = 2 << 20
_SHIFT_UNITS = 400
"""The kernel's addresses move down by up to 800 MiB, in steps of 2 MiB, as the kernel itself places its code."""
_HEX = re.compile(rb"(?<![0-9a-f])ffff[0-9a-f]{12}(?![0-9a-f])")
_MAC = rb"(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}"
_DECIMAL = re.compile(rb"(?<![0-9])1844[0-9]{16}(?![0-9])")

_SPECIAL = {
    4: ("0.0.0.0/8", "10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16", "224.0.0.0/3"),
    6: ("::/127", "::ffff:0:0/96", "fc00::/7", "fe80::/10", "ff00::/8"),
}
"""Networks whose addresses stay in them: what they are for is no secret, and an answer needs it."""
_FIXED = {4: ("0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/3"), 6: ("::/127", "ff00::/8")}
"""Networks whose addresses stay as they are."""


class Pseudonyms:
    """The key, and every value that has a pseudonym so far."""

    def __init__(
        self, key: bytes, values: dict[bytes, bytes] | None = None, texts: dict[bytes, bytes] | None = None
    ) -> None:
        """Take a key of 32 bytes, and what earlier redactions made with it."""
        self._key = key
        self.values = values or {}
        """Pseudonyms to values."""
        self.texts = texts or {}
        """Whole texts with pseudonyms to texts with values: paths, command lines, messages."""
        self._known = {value: made for made, value in self.values.items()}
        self.avoided: set[bytes] = set()
        """Words that mean something in a capture: no pseudonym is one of them."""
        self._back: Any = None
        # Never zero.
        self.shift = -_SHIFT_UNIT * (1 + int.from_bytes(self._digest(b"kernel")[:8]) % _SHIFT_UNITS)

    @classmethod
    def new(cls) -> Pseudonyms:
        """Return those of a new key."""
        return cls(secrets.token_bytes(_KEY_BYTES))

    @classmethod
    def read(cls, path: Path) -> Pseudonyms:
        """Read a key file.

        Raises:
            PerfcaseError: it is none (input), or it is absent (not_found) or unreadable (not_permitted).
        """
        try:
            found = json.loads(path.read_bytes())
            if found["format"] != _FORMAT or found["version"] != 1:
                raise ValueError(found["format"])
            key = bytes.fromhex(found["key"])
            if len(key) != _KEY_BYTES:
                raise ValueError("key")
            return cls(key, _bytes(found["values"]), _bytes(found["texts"]))
        except FileNotFoundError:
            raise PerfcaseError("not_found", f"{path}: no such file") from None
        except PermissionError:
            raise PerfcaseError("not_permitted", f"{path}: this user may not read it") from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise PerfcaseError("input", f"{path}: not a key of perfcase redact", "it writes one beside OUT") from None

    def text(self) -> str:
        """Return the text of the key file."""
        found = {
            "format": _FORMAT,
            "version": 1,
            "key": self._key.hex(),
            "values": _texts(self.values),
            "texts": _texts(self.texts),
        }
        return json.dumps(found, indent=1) + "\n"

    def word(self, value: bytes) -> bytes:
        """Return the pseudonym of a value: as long as the value, with its suffix.

        Raises:
            PerfcaseError: there are more short values than short pseudonyms (input).
        """
        if value in self._known:
            return self._known[value]
        suffix = _SUFFIX.search(value)
        end = suffix[0] if suffix and suffix.start() else b""
        length = len(value) - len(end)
        # There are few short pseudonyms: where all others are taken, one is a word of the capture.
        for avoided in (self.avoided, *([set()] if length <= _SHORT else [])):
            for attempt in range(_TRIES_MAX):
                made = self._signs(b"%d " % attempt + value, length) + end
                if made not in self.values and made != value and made not in avoided:
                    return self._keep(value, made)
        raise PerfcaseError("input", f"more names of {len(value)} bytes than there are pseudonyms of that length")

    def alias(self, value: bytes) -> bytes:
        """Return a pseudonym of the value's length, for where its own is longer or shorter than the place that it has."""
        for attempt in range(_TRIES_MAX):
            made = self._signs(b"alias %d " % attempt + value, len(value))
            if made not in self.values and self.texts.setdefault(made, value) == value:
                return made
        raise PerfcaseError("input", f"more names of {len(value)} bytes than there are pseudonyms of that length")

    def _keep(self, value: bytes, made: bytes) -> bytes:
        self.values[made] = value
        self._known[value] = made
        return made

    def _digest(self, value: bytes) -> bytes:
        return hmac.digest(self._key, value, "sha256")

    def _signs(self, value: bytes, length: int) -> bytes:
        if length == 0:
            return b""
        # An integer of 16 bits for each sign: the modulus favours no sign by more than one in a thousand.
        stream = hashlib.shake_256(self._digest(value)).digest(2 * length)
        numbers = [int.from_bytes(stream[at : at + 2]) for at in range(0, 2 * length, 2)]
        first, others = (_LETTERS, _SIGNS) if length > _SHORT else (_MORE_LETTERS, _MORE_SIGNS)
        return bytes([first[numbers[0] % len(first)], *(others[number % len(others)] for number in numbers[1:])])

    def address(self, text: bytes) -> bytes:
        """Return the pseudonym of an IP or MAC address; the text itself where it stays or is none."""
        if text in self._known:
            return self._known[text]
        if re.fullmatch(_MAC, text):
            made = self.address_bytes(bytes.fromhex(text.decode().replace(":", ""))).hex(":").encode()
            return text if made == text.lower() else self._keep(text, made)
        try:
            found = ipaddress.ip_address(text.decode("ascii"))
        except ValueError:
            return text
        made = str(ipaddress.ip_address(self.address_bytes(found.packed))).encode()
        if isinstance(found, ipaddress.IPv6Address) and (inner := found.ipv4_mapped):
            made = b"::ffff:" + str(ipaddress.ip_address(self.address_bytes(inner.packed))).encode()
        return text if ipaddress.ip_address(made.decode()) == found else self._keep(text, made)

    def address_bytes(self, value: bytes) -> bytes:
        """Return the pseudonym of the bytes of an address: MAC, IPv4, IPv6 or a ``sockaddr``; other bytes stay.

        Addresses with a common prefix have pseudonyms with a common prefix of the same length, after Xu, Fan, Ammar and Moon:
        Prefix-Preserving IP Address Anonymization (2002). Bits that lead into a network of ``_SPECIAL`` stay.
        """
        match len(value):
            case 4 | 16:
                found = ipaddress.ip_address(value)
                if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped:
                    return value[:12] + self._moved(found.ipv4_mapped).packed
                return self._moved(found).packed
            case 6 if value.strip(b"\0") and value.strip(b"\xff"):
                made = self._digest(b"mac " + value)[:6]
                return bytes([made[0] & 0xFC | 2, *made[1:]])
            case 28:
                family = int.from_bytes(value[:2], "little"), int.from_bytes(value[:2], "big")
                if 2 in family:
                    return value[:4] + self.address_bytes(value[4:8]) + value[8:]
                if 10 in family:
                    return value[:8] + self.address_bytes(value[8:24]) + value[24:]
        return value

    def _moved(
        self, found: ipaddress.IPv4Address | ipaddress.IPv6Address
    ) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
        if any(found in network for network in _networks(_FIXED, found.version)):
            return found
        width, bits, made = found.max_prefixlen, int(found), 0
        special = [(int(each.network_address), each.prefixlen) for each in _networks(_SPECIAL, found.version)]
        for done in range(width):
            prefix = bits >> (width - done)
            leads = any(done < length and network >> (width - done) == prefix for network, length in special)
            flip = 0 if leads else self._digest(f"{found.version} {done} {prefix:x}".encode())[0] & 1
            made = made << 1 | (bits >> (width - done - 1) & 1) ^ flip
        return type(found)(made)

    def moved_hex(self, text: bytes, *, back: bool = False) -> bytes:
        """Return a text with each address of the kernel in it moved."""
        return _HEX.sub(lambda found: b"%016x" % self._in_kernel(int(found[0], 16), back=back), text)

    def hex_places(self, data: Any) -> list[tuple[int, bytes]]:  # noqa: ANN401 - a buffer
        """Return the places of addresses of the kernel that stand in bytes as text, and what belongs there."""
        return [(found.start(), self.moved_hex(found[0])) for found in _HEX.finditer(data)]

    def _in_kernel(self, value: int, *, back: bool) -> int:
        shift = -self.shift if back else self.shift
        first, end = (each + (self.shift if back else 0) for each in _KERNEL)
        return value + shift if first <= value < end else value

    def number(self, value: int) -> int:
        """Return a number of a table moved back, if it is an address of the kernel."""
        return self._in_kernel(value, back=True)

    def reveal(self, text: bytes) -> bytes:
        """Return a text with values in place of pseudonyms, the longest first."""
        if self._back is None:
            # A private path may stand behind the name of another folder.
            known = {made: value for made, value in self.values.items() if len(made) > _SHORT} | self.texts
            self._back = import_core().Substitution(
                [(made, value, not made.startswith(b"/")) for made, value in known.items()]
            )
        text = self._back.apply(text)
        text = self.moved_hex(text, back=True)
        return _DECIMAL.sub(lambda found: b"%d" % self.number(int(found[0])), text)


def _networks(of: dict[int, tuple[str, ...]], version: int) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    return [ipaddress.ip_network(each) for each in of[version]]


def _texts(values: dict[bytes, bytes]) -> dict[str, str]:
    return {
        made.decode("utf-8", "surrogateescape"): value.decode("utf-8", "surrogateescape")
        for made, value in sorted(values.items())
    }


def _bytes(found: dict[str, str]) -> dict[bytes, bytes]:
    return {
        made.encode("utf-8", "surrogateescape"): value.encode("utf-8", "surrogateescape")
        for made, value in found.items()
    }
