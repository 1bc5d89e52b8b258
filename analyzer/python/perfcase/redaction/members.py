"""Members of an archive with pseudonyms: where each format says that a value is private."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from perfcase.errors import PerfcaseError
from perfcase.redaction.values import Values

_FRAME = re.compile(rb"F (\d+) (\d+) (/[^\n]*)\n")
_FRAME_MAX = 16 << 20
"""The longest file of a snapshot, as the format says."""
_LINE_MAX = 1 << 20
_CHUNK = 4 << 20
_LOG_LINE = re.compile(rb"(\d+,\d+,-?\d+,[^;\n]*;)([^\n]*)(\n?)")
_SERVER = re.compile(rb"(?m)^(//)?([^\s:/]+)(:/|/)(?=\S* \S+ (?:nfs4?|cifs|smb3|ceph|glusterfs|fuse\.\S+) )")
EVENTS = frozenset({"perf_data", "trace_dat", "ftrace_raw"})
"""Kinds with events."""
BINARY = EVENTS | {"symbol_file"}
"""Kinds whose offsets must stay: only pseudonyms of the value's length can stand in them."""
KNOWN = BINARY | {"perf_stat", "proc_snapshots", "host_file", "recorder_file"}
_CONTROLLERS = frozenset(
    b"blkio cpu cpuacct cpu,cpuacct cpuacct,cpu cpuset devices freezer hugetlb memory misc net_cls net_cls,net_prio net_prio perf_event"
    b" pids rdma systemd unified".split()
)
"""The folders of version 1 below ``/sys/fs/cgroup``: each has the groups again."""

Substitute = Callable[[bytes], bytes]


def rewritten(
    name: str, kind: str, pieces: Iterable[bytes], values: Values, substitute: Substitute | None
) -> Iterator[bytes]:
    """Yield the bytes of a member of text with pseudonyms. Without a ``substitute`` its values become known, no more."""
    text = Text(values, substitute)
    if kind == "proc_snapshots":
        return _snapshots(pieces, text)
    if name == "host/kmsg":
        return (_LOG_LINE.sub(text.log_line, each) for each in pieces)
    if name in ("host/version", "host/cmdline"):
        return (text.message(each) for each in pieces)
    if name == "host/uname":
        return (_uname(each, text) for each in pieces)
    if name == "host/mounts":
        return (text.mounts(each) for each in pieces)
    if name == "symbols/objects.tsv":
        return (text.objects(each) for each in pieces)
    has_addresses = kind == "recorder_file" and not name.endswith(".json")
    return (text.plain(each, has_addresses=has_addresses) for each in pieces)


class Text:
    """Text in which values stand anywhere: they become known, or are replaced."""

    def __init__(self, values: Values, substitute: Substitute | None) -> None:
        self.values = values
        self._substitute = substitute

    def plain(self, data: bytes, *, has_addresses: bool = False) -> bytes:
        """Return a text with each value in it replaced."""
        if self._substitute:
            return self.values.pseudonyms.moved_hex(self._substitute(data))
        self.values.path(data)
        if has_addresses:
            self.values.addresses(data)
        return data

    def log_line(self, found: re.Match[bytes]) -> bytes:
        """Return a record of the log."""
        return found[1] + self.message(found[2]) + found[3]

    def message(self, data: bytes) -> bytes:
        """Return a text of the kernel."""
        text = data.rstrip(b"\n")
        made = self.done(text, self.values.message("kernel_log", text))
        self.values.told(_unescaped(text), _unescaped(made))
        return made + data[len(text) :]

    def command_line(self, data: bytes) -> bytes:
        """Return the words of a command."""
        made = self.done(data, self.values.command_line(data))
        self.values.told(data.replace(b"\0", b" "), made.replace(b"\0", b" "))
        return made

    def done(self, data: bytes, made: bytes) -> bytes:
        """Return what the format replaced. A value of another member may stand in what it left."""
        return self.values.told(data, self._substitute(made)) if self._substitute else made

    def mounts(self, data: bytes) -> bytes:
        """Return mounts: what is mounted may name a server."""
        if not self._substitute:
            for found in _SERVER.finditer(data):
                self.values.whole("host_name", found[2])
        made = _SERVER.sub(lambda found: (found[1] or b"") + self.server(found[2]) + found[3], data)
        return self.plain(made, has_addresses=True)

    def server(self, name: bytes) -> bytes:
        made = self.values.addresses(name)
        return made if made != name else self.values.word("host_name", name)

    def objects(self, data: bytes) -> bytes:
        """Return the list of symbol files. An object without a build id is named after the hash of its path."""
        if not self._substitute:
            for line in data.split(b"\n"):
                columns = line.split(b"\t")
                if len(columns) > 3 and (found := re.fullmatch(rb"elf/(path-[0-9a-f]{16})", columns[0])):
                    self.values.member(found[1], columns[3])
        return self.plain(data)


def _unescaped(text: bytes) -> bytes:
    """Return a text of the kernel's log as a table has it."""
    return re.sub(rb"\\x([0-9a-f]{2})", lambda found: bytes([int(found[1], 16)]), text)


def _uname(data: bytes, text: Text) -> bytes:
    system, _, rest = data.partition(b" ")
    name, _, rest = rest.partition(b" ")
    return system + b" " + text.values.whole("host_name", name) + b" " + text.plain(rest) if rest else text.plain(data)


def pieces_of(path: Path) -> Iterator[bytes]:
    """Yield a file in pieces that end where a line ends."""
    with path.open("rb") as file:
        rest = b""
        while piece := file.read(_CHUNK):
            whole, end, rest_of = piece.rpartition(b"\n")
            if end:
                yield rest + whole + end
                rest = rest_of
            else:
                rest += piece
            if len(rest) > 16 * _CHUNK:
                raise PerfcaseError(
                    "input", f"{path.name} cannot be redacted: it has a line of more than {len(rest)} bytes"
                )
        if rest:
            yield rest


def frames_of(path: Path) -> Iterator[bytes]:
    """Yield the lines of a stream of snapshots, each with the file that follows it."""
    with path.open("rb") as file:
        while line := file.readline(_LINE_MAX):
            frame = _FRAME.fullmatch(line)
            if frame and int(frame[2]) > _FRAME_MAX:
                raise PerfcaseError("input", f"{path.name} cannot be redacted: it has a file of {int(frame[2])} bytes")
            yield line + file.read(int(frame[2])) if frame else line


def _snapshots(frames: Iterable[bytes], text: Text) -> Iterator[bytes]:
    """Yield the frames of a stream of snapshots; what is no file of known length stays and is searched."""
    # The sum of a complete snapshot is that of its files, whose lengths may change.
    total = 0
    for frame in frames:
        head, _, _ = frame.partition(b"\n")
        found = _FRAME.fullmatch(head + b"\n")
        if found:
            made = _file(found[3], frame[len(head) + 1 :], text)
            total += len(made)
            yield b"F %s %d %s\n" % (found[1], len(made), _head(found[3], text)) + made
        elif complete := re.fullmatch(rb"(Z \d+ \d+ \d+) \d+\n", frame):
            yield b"%s %d\n" % (complete[1], total)
            total = 0
        else:
            total = 0 if frame.startswith(b"S ") else total
            yield _head(frame, text)


def _head(path: bytes, text: Text) -> bytes:
    """Return a line or path of a frame: names of control groups stand in it."""
    head, found, rest = path.partition(b"/sys/fs/cgroup/")
    folder, slash, name = rest.rpartition(b"/")
    if not found or not slash:
        return text.plain(path)
    controller, _, below = folder.partition(b"/")
    if controller not in _CONTROLLERS:
        return head + found + text.values.group(b"/" + folder)[1:] + slash + name
    group = text.values.group(b"/" + below) if below else b""
    return head + found + controller + group + slash + name


def _file(path: bytes, data: bytes, text: Text) -> bytes:
    if path.endswith(b"/cmdline"):
        return text.command_line(data)
    if path.endswith(b"/cgroup"):
        lines = data.split(b"\n")
        return b"\n".join(
            b":".join([*head, text.values.group(group)]) for *head, group in (each.split(b":", 2) for each in lines)
        )
    if path == b"/perfcase/file_systems":
        return text.plain(data, has_addresses=True)
    return text.plain(data, has_addresses=path.endswith(b"/sockets"))
