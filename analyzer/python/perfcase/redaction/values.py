"""The private values of an unpacked archive, and what stands for each."""

from __future__ import annotations

import hashlib
import ipaddress
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from perfcase.redaction.private import STANDARD_GROUPS, Rules
from perfcase.redaction.pseudonyms import Pseudonyms

_ADDRESS = re.compile(
    rb"(?<![0-9A-Za-z.:])(?:(?:[0-9]{1,3}\.){3}[0-9]{1,3}|(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}"
    rb"|(?:[0-9A-Fa-f]{0,4}:){2,7}(?:[0-9A-Fa-f]{1,4}|(?:[0-9]{1,3}\.){3}[0-9]{1,3})?)(?![0-9A-Za-z]|\.[0-9])"
)
_SPACE = re.compile(rb"([\x00\s]+)")
_NUL = re.compile(rb"(\x00+)")
_TOKEN = re.compile(rb"[A-Za-z0-9_\x80-\xff]+")
_ESCAPED_OR_TOKEN = re.compile(rb"(\\x[0-9a-f]{2})|[A-Za-z0-9_\x80-\xff]+")
_TEXT_MIN = 16
"""A text of several words and so many bytes is searched for as a whole."""
_MEASURE = re.compile(rb"[0-9]+(?:[kKMGT]?i?B|[num]?s|[kMG]?[Hh]z|[KMG]|th|st|nd|rd)?")
"""A number, with its unit: counts and times are public."""
_DEVICE = re.compile(
    rb"(?:sd[a-z]+|vd[a-z]+|xvd[a-z]+|hd[a-z]|nvme\d+(?:n\d+)?|md\d+|dm|loop\d+|sr\d+|mmcblk\d+|nbd\d+|ata\d+)(?:p?\d+)?"
)
"""A disk or a partition: those are public."""
_MEMORY_GROUP = re.compile(rb"memcg=(/[^,\s]*)")
_COMM_MAX = 15
"""The most bytes of a thread's name."""
_SHORT = 2
"""A word or an argument of so many bytes stays: an option, a word that joins others."""
_RUNTIMES = frozenset(
    b"docker kubepods burstable besteffort guaranteed pod crio conmon containerd cri libpod podman lxc payload monitor nspawn machine"
    b" user session app system init slice scope service mount socket user-runtime-dir system-systemd dbus".split()
)
"""Words in names of control groups that say who made them."""


@dataclass
class Values:
    """Private values, each with its pseudonym."""

    pseudonyms: Pseudonyms
    rules: Rules
    kept_words: frozenset[bytes] = frozenset()
    """Words of the kernel's log that rules look for, in lower case."""
    public: set[bytes] = field(default_factory=set)
    """Words that also say something public: they are replaced only where the format says what they are."""
    threads: frozenset[bytes] = frozenset()
    """Names of threads."""
    ordinary: set[bytes] = field(default_factory=set)
    """Values that are replaced only there."""
    by_class: dict[str, set[bytes]] = field(default_factory=dict)
    """The values of each class."""
    _pairs: dict[bytes, tuple[bytes, bool, str]] = field(default_factory=dict)

    def pairs(self) -> list[tuple[bytes, bytes, bool]]:
        """Return the values to search for everywhere: value, pseudonym, whether only as a word."""
        return [(value, made, is_word) for value, (made, is_word, _) in self._pairs.items()]

    def equal_pairs(self) -> list[tuple[bytes, bytes, bool]]:
        """Return those for members in which nothing may move. What would be longer or shorter gets another pseudonym there."""
        return [
            (value, made if len(made) == len(value) else self.pseudonyms.alias(value), is_word)
            for value, made, is_word in self.pairs()
        ]

    def class_of(self, value: bytes) -> str:
        """Return the class of a value to search for."""
        return self._pairs[value][2]

    def _count(self, kind: str, value: bytes) -> None:
        self.by_class.setdefault(kind, set()).add(value)

    def _search(self, kind: str, value: bytes, made: bytes, *, is_word: bool = True) -> None:
        if value != made:
            self._pairs.setdefault(value, (made, is_word, kind))

    def told(self, value: bytes, made: bytes) -> bytes:
        """Remember a whole text for the way back: short pseudonyms are known only in it."""
        if value != made:
            self.pseudonyms.texts[made.strip()] = value.strip()
        return made

    # Each of these returns what stands for a value where the format says what it is, and has it searched for if it can be.

    def word(self, kind: str, value: bytes) -> bytes:
        """Return the pseudonym of a value of a class."""
        made = self.pseudonyms.word(value)
        self._count(kind, value)
        if is_distinct(value) and value not in self.public:
            self._search(kind, value, made, is_word=False)
        else:
            self.ordinary.add(value)
        return made

    def whole(self, kind: str, value: bytes) -> bytes:
        """Return the same for a value that is told back whatever its length."""
        return self.told(value, self.word(kind, value)) if value else value

    def symbol(self, raw: bytes, shown: bytes, *, is_searched: bool) -> bytes:
        """Return what people see of the name of a function, replaced. ``raw`` is what the file has, which may be mangled.

        Underscores at its begin stay: among aliases the name with the fewest is shown.
        """
        rest = shown.lstrip(b"_")
        made = shown[: len(shown) - len(rest)] + self.pseudonyms.word(rest)
        self._count("symbol_name", shown)
        for name in {raw, shown} if is_searched else ():
            if is_distinct(name) and name not in self.public:
                self._search("symbol_name", name, made)
        return self.told(shown, made)

    def uname(self, name: bytes, made: bytes, release: bytes) -> None:
        """Search for a host's name, which may be an ordinary word, as ``uname`` prints it."""
        self._search("host_name", b"Linux %s %s" % (name, release), b"Linux %s %s" % (made, release))

    def path(self, text: bytes) -> bytes:
        """Return a text with the paths in it replaced that are private."""
        return self.rules.paths.sub(lambda found: self._path(found[1], found[2]), text)

    def _path(self, head: bytes, rest: bytes) -> bytes:
        *folders, last = rest.split(b"/")
        parts = [part if part in (b"", b".", b"..") else self.pseudonyms.word(part) for part in folders]
        made = head + b"/".join([*parts, self._file(last)])
        self._count("path", head + rest)
        self._search("path", head + rest, made, is_word=False)
        return self.told(head + rest, made)

    def _file(self, name: bytes) -> bytes:
        """Return the name of a file, replaced. A program's becomes the name of a thread, which is public."""
        head = name[:_COMM_MAX] if name[:_COMM_MAX] in self.threads else b""
        rest = name[len(head) :]
        return head + (rest if rest in (b"", b".", b"..") else self.pseudonyms.word(rest))

    def whole_path(self, path: bytes) -> bytes:
        """Return a path of a table, which may hold any sign, replaced."""
        if found := self.rules.whole.match(path):
            return self._path(found[1], found[2])
        return self.path(path)

    def member(self, name: bytes, path: bytes) -> None:
        """Search for the name of a member that is made of the hash of its path."""
        self._search("path", name, self.told(name, hash_name(self.whole_path(path))))

    def group(self, path: bytes) -> bytes:
        """Return the path of a control group, replaced."""
        made = b"/".join(part if part in STANDARD_GROUPS else self._group_part(part) for part in path.split(b"/"))
        if made != path:
            self._count("control_group", path)
            self.told(path, made)
            if path.startswith(b"/"):
                self._search("control_group", path, made)
        return made

    def _group_part(self, part: bytes) -> bytes:
        def token(found: re.Match[bytes]) -> bytes:
            head, value = (b"pod", found[0][3:]) if re.fullmatch(rb"pod[0-9a-f_]{8,}", found[0]) else (b"", found[0])
            return found[0] if value in _RUNTIMES or value.isdigit() else head + self.word("control_group", value)

        return _TOKEN.sub(token, part)

    def addresses(self, text: bytes) -> bytes:
        """Return a text with the addresses in it replaced."""
        return _ADDRESS.sub(self._address, text)

    def _address(self, found: re.Match[bytes]) -> bytes:
        made = self.pseudonyms.address(found[0])
        if made != found[0]:
            self._count("address", found[0])
        self._search("address", found[0], made)
        return self.told(found[0], made)

    def address_bytes(self, value: bytes) -> bytes:
        """Return the bytes of an address, replaced. Its text becomes known for the way back."""
        for text in texts_of(value):
            made = self.pseudonyms.address(text)
            if made != text:
                self._count("address", text)
                self.told(text, made)
        return self.pseudonyms.address_bytes(value)

    def argument(self, word: bytes) -> bytes:
        """Return a word of a command line, replaced. The dashes of an option do not count."""
        if len(word.lstrip(b"-")) <= _SHORT:
            return word
        if re.match(rb"/[^/]", word):
            return self.whole_path(word)
        if _ADDRESS.fullmatch(word) and self.pseudonyms.address(word) != word:
            return self.addresses(word)
        for part in word.split(b"=", 1)[1:]:
            if is_distinct(part) and part not in self.public:
                self.argument(part)
        return self.word("argument", word)

    def command_line(self, line: bytes) -> bytes:
        """Return a command line, words apart by NUL or else by space, with all words replaced but the first: the program."""
        space = _NUL if b"\0" in line.strip(b"\0") else _SPACE
        parts = space.split(line)
        first = next((at for at, part in enumerate(parts) if part and not space.fullmatch(part)), 0)
        program = self.path(parts[first])
        made = b"".join(parts[:first]) + program + b"".join(
            part if space.fullmatch(part) else self.argument(part) for part in parts[first + 1 :]
        )  # fmt: skip
        shown = [each.replace(b"\0", b" ").strip() for each in (line, made)]
        if len(shown[0]) >= _TEXT_MIN and len(parts) > first + 1:
            # As the recorder's log shows it.
            self._search("argument", shown[0], shown[1], is_word=False)
        return made

    def message(self, kind: str, text: bytes) -> bytes:
        """Return a text of the kernel, replaced word by word: numbers, devices and the words that rules look for stay."""

        def rest(part: bytes) -> bytes:
            return _ESCAPED_OR_TOKEN.sub(
                lambda found: found[0] if found[1] else self._message_word(kind, found[0]), part
            )

        spans = sorted(
            [
                (found.span(), self._address(found))
                for found in _ADDRESS.finditer(text)
                if self.pseudonyms.address(found[0]) != found[0]
            ]
            + [(found.span(), self._path(found[1], found[2])) for found in self.rules.paths.finditer(text)]
            + [(found.span(1), self.group(found[1])) for found in _MEMORY_GROUP.finditer(text)]
        )
        made, done = [], 0
        for (start, end), part in spans:
            if start >= done:
                made += [rest(text[done:start]), part]
                done = end
        result = b"".join([*made, rest(text[done:])])
        if result != text and len(text) >= _TEXT_MIN and len(_TOKEN.findall(text)) > 1:
            self._search(kind, text, result, is_word=False)
        return result

    def _message_word(self, kind: str, word: bytes) -> bytes:
        is_kept = _MEASURE.fullmatch(word) or _DEVICE.fullmatch(word) or word.lower() in self.kept_words
        if len(word) <= _SHORT or is_kept or word in self.public:
            return word
        self._count(kind, word)
        return self.pseudonyms.word(word)

    def event_text(self, text: bytes) -> bytes:
        """Return a text of an event, replaced as a whole; a path as other paths are."""
        if len(text) <= _SHORT or not text.strip(b"\0") or text in self.public:
            return text
        if text.startswith(b"/") or self.rules.paths.search(text):
            return self.whole_path(text)
        if _ADDRESS.fullmatch(text):
            made = self.addresses(text)
            return made if len(made) == len(text) else self.whole("event_text", text)
        return self.whole("event_text", text)

    def rule_words(self) -> None:
        """Search for the words of the rules, whatever they are."""
        for word in self.rules.words:
            self._count("rule", word)
            self._search("rule", word, self.pseudonyms.word(word), is_word=False)


def is_distinct(value: bytes) -> bool:
    """Whether a value cannot be an ordinary word or number, so that its bytes mean the same everywhere."""
    if re.fullmatch(rb"[0-9.,:+-]*", value):
        return False
    return len(value) >= 12 or (len(value) >= 8 and not re.fullmatch(rb"[a-z]+", value))


def texts_of(address: bytes) -> list[bytes]:
    """Return the address that some bytes are, as text: of a MAC, IPv4, IPv6 or a ``sockaddr``."""
    match len(address):
        case 4 | 16:
            return [str(ipaddress.ip_address(address)).encode()]
        case 6:
            return [address.hex(":").encode()]
        case 28 if 2 in address[:2]:
            return texts_of(address[4:8])
        case 28 if 10 in address[:2]:
            return texts_of(address[8:24])
    return []


def hash_name(path: bytes) -> bytes:
    """Return the name of the member of an object without a build id."""
    return b"path-" + hashlib.sha256(path).hexdigest()[:16].encode()


def words_of(texts: Iterable[str]) -> Iterator[bytes]:
    """Yield texts, and the words in them, as bytes."""
    for text in texts:
        value = text.encode("utf-8", "surrogateescape")
        yield value
        yield from value.split()
        yield from _TOKEN.findall(value)
