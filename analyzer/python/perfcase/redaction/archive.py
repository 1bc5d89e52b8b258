"""An archive with pseudonyms: taken apart, rewritten, packed, read again and searched."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import perfcase
from perfcase.case.inspection import inspect
from perfcase.case.opening import Opened
from perfcase.case.store import import_core
from perfcase.catalogue.privacy import load_privacy
from perfcase.errors import PerfcaseError
from perfcase.redaction import events, manifest, members, private
from perfcase.redaction.private import Rules
from perfcase.redaction.pseudonyms import Pseudonyms
from perfcase.redaction.symbols import Symbols
from perfcase.redaction.values import Values, words_of

_PREFIX = ".perfcase-redact-"
"""What the names of private folders begin with."""

_BARE = (["perf_data"], ["trace_dat"])
"""The kinds of the members of files that are no archives, and become one."""

Progress = Callable[[str, int, int], None]
"""Told the step, and how much of it is done."""


@dataclass(frozen=True)
class Redacted:
    """What a redaction did."""

    counts: dict[str, int]
    """How many values have a pseudonym, by class."""
    left: list[str]
    """Titles of the classes of which some values are still in the file."""
    ordinary: int
    """How many values were replaced only where the format says what they are."""
    dropped: list[str]
    """Members that were left out: nobody knows what they hold."""
    sealed: list[str]
    """Members with compressed parts, in which nothing is searched for."""
    named: list[str]
    """Private members in which the names of functions are left."""
    removed: dict[str, int]
    """What has no pseudonym and was removed, as the manifest says it."""


def check(file: Path, output: Path, key_file: Path) -> dict[str, Any]:
    """Return what FILE is made of, if it can be redacted to OUT.

    Raises:
        PerfcaseError: FILE is no archive, or redacted already (input), OUT is FILE or the key (usage).
    """
    if not file.exists():
        raise PerfcaseError("not_found", f"{file}: no such file")
    if output.resolve() in (file.resolve(), key_file.resolve()) or (output.exists() and output.samefile(file)):
        raise PerfcaseError(
            "usage", f"{output}: OUT must be another file than FILE and the key", "name another with -o"
        )
    if key_file.resolve() == file.resolve():
        raise PerfcaseError("usage", f"{key_file}: the key must be another file than FILE", "name another with --key")
    if not output.parent.is_dir():
        raise PerfcaseError("not_found", f"{output.parent}: no such folder")
    if not key_file.parent.is_dir():
        raise PerfcaseError("not_found", f"{key_file.parent}: no such folder")
    if output.is_dir():
        raise PerfcaseError("usage", f"{output}: OUT is a folder", "name a file with -o")
    described = inspect(file)
    if described["manifest"] is None and [each["kind"] for each in described["members"]] not in _BARE:
        raise PerfcaseError(
            "input",
            f"{file}: no .perfcase archive",
            "redact takes what perfcase record writes, a perf.data or a trace.dat",
        )
    if described["manifest"] is None:
        return described
    if "redacted" in described["manifest"]:
        raise PerfcaseError("input", f"{file}: it is redacted already", "redact the original, or send this one")
    return described


def redact(
    case: Opened, file: Path, output: Path, key_file: Path, pseudonyms: Pseudonyms, rules: Rules, progress: Progress
) -> Redacted:
    """Write FILE with pseudonyms to OUT, and the key. Neither is there if anything fails. The caller holds the lock on the key.

    Raises:
        PerfcaseError: it cannot be redacted (input), OUT cannot be written (environment, not_permitted).
    """
    described = check(file, output, key_file)
    with _Folder(output) as folder:
        whole, packed = folder / "members", folder / "out"
        progress("unpacking", 0, 1)
        problems = json.loads(import_core().unpack(str(file), str(whole)))
        if damage := next((each for each in problems if each["severity"].lower() == "error"), None):
            raise PerfcaseError(
                "input", f"{file}: cannot be redacted: {damage['message']}", "what is damaged cannot be searched"
            )
        if described["manifest"] is None:
            _as_archive(described, whole, case)
        is_plain = _decompress(described, whole)
        names = [each["path"] for each in described["members"] if each["kind"] == "symbol_file"]
        symbols = Symbols(whole, names, rules, case.connection)
        public = set(words_of(private.public_values(case.connection, rules, symbols.private_names())))
        pseudonyms.avoided = public
        threads = frozenset(private.thread_names(case.connection))
        values = Values(pseudonyms, rules, load_privacy().kept_words, public, threads)
        archive = _Archive(described, whole, values, symbols, progress)
        held = private.private_data(case.connection, rules)
        if held["memory"].values:
            progress("unwinding", 0, 1)
            if is_plain:
                # Copies of stacks are known by their places.
                import_core().pack(str(whole), archive.plain, json.dumps(described["manifest"]), str(packed))
            archive.unwind(packed if is_plain else file, folder / "unwound")
        archive.learn(held)
        archive.rewrite()
        progress("packing", 0, 1)
        import_core().pack(str(whole), archive.packed, json.dumps(archive.manifest), str(packed))
        _scan(packed, folder / "again", values, progress)
        _place(pseudonyms.text(), packed, key_file, output)
    left = [load_privacy().classes[name].title for name in archive.manifest["redacted"]["left"]]
    counts = {name: len(each) for name, each in sorted(values.by_class.items())}
    removed = archive.manifest["redacted"]["removed"]
    return Redacted(counts, left, len(values.ordinary), archive.dropped, archive.sealed, symbols.left, removed)


def _as_archive(described: dict[str, Any], folder: Path, case: Opened) -> None:
    """Make the only file in a folder the member of an archive. The manifest has what redaction must know of the host."""
    (member,) = described["members"]
    path = "perf/perf.data" if member["kind"] == "perf_data" else "ftrace/trace.dat"
    # The file may have the name of the folder.
    apart = (folder / member["path"]).rename(folder / ".apart")
    (folder / path).parent.mkdir()
    apart.rename(folder / path)
    member["path"] = path
    ((hostname, release),) = case.connection.execute("SELECT hostname, kernel_release FROM capture").fetchall()
    described["manifest"] = manifest.of_host(hostname, release)


def _decompress(described: dict[str, Any], folder: Path) -> bool:
    """Write events that are compressed within a member as if they were not; return whether there were some."""
    paths = [each["path"] for each in described["members"] if each["kind"] in ("perf_data", "trace_dat")]
    written = [import_core().decompress_events(str(folder), path) for path in paths]
    return any(written)


class _Archive:
    """An archive that was taken apart."""

    def __init__(
        self, described: dict[str, Any], folder: Path, values: Values, symbols: Symbols, progress: Progress
    ) -> None:
        self._manifest = described["manifest"]
        self._members = [each for each in described["members"] if each["kind"] in members.KNOWN]
        self.dropped = [each["path"] for each in described["members"] if each["kind"] not in members.KNOWN]
        self.sealed: list[str] = []
        self.packed: list[tuple[str, str | None]] = []
        """Path and source of each member that is there in the end."""
        self.manifest: dict[str, Any] = {}
        self._folder = folder
        self._values = values
        self._symbols = symbols
        self._progress = progress
        self._events = import_core().Events()
        raw = [each["path"] for each in self._members if each["kind"] == "ftrace_raw"]
        self._sources = [[each["path"]] for each in self._members if each["kind"] in ("perf_data", "trace_dat")] + [
            raw
        ][: len(raw)]

    @property
    def plain(self) -> list[tuple[str, str | None]]:
        """Path and source of each member before it is rewritten."""
        return [(each["path"], each["source"]) for each in self._members]

    def unwind(self, file: Path, folder: Path) -> None:
        """Find the callers in copies of stacks while those are there. They stay, as callchains."""
        folder.mkdir()
        self._events.unwind(str(file), str(folder))
        shutil.rmtree(folder)

    def learn(self, held: dict[str, private.Held]) -> None:
        """Make every value known before the first is replaced: what one member tells is private in all."""
        values = self._values
        # A path may hold any sign in a table.
        for name, take in (("path", values.whole_path), ("control_group", values.group), ("address", values.addresses)):
            for value in sorted(held[name].values):
                text = value.encode("utf-8", "surrogateescape")
                # cgroup v1 of the host's totals: not a path but a controller and a path.
                take(text.partition(b":")[2] if name == "control_group" and not text.startswith(b"/") else text)
        values.rule_words()
        manifest.redacted(self._manifest, values, None)
        for number, each in enumerate(self._members):
            self._progress("reading", number, len(self._members))
            if each["kind"] in members.BINARY and each["path"] != "symbols/objects.tsv":
                events.known_paths(self._folder / each["path"], values)
                if each["kind"] == "symbol_file" and events.is_sealed(self._folder / each["path"]):
                    self.sealed.append(each["path"])
            else:
                for _ in members.rewritten(each["path"], each["kind"], self._pieces(each), values, None):
                    pass
        self._symbols.learn(values)
        for source in self._sources:
            self._events.visit(str(self._folder), source)
        self._learn_events()

    def _learn_events(self) -> None:
        values = self._values
        arguments = frozenset(each.encode("utf-8", "surrogateescape") for each in manifest.arguments(self._manifest))
        if "recorder" not in self._manifest:
            arguments = events.arguments(self._events.texts())
        texts = []
        for table, column, found in self._events.texts():
            made = {value: events.changed(table, column, value, values, arguments) for value in sorted(found)}
            texts.append({value: to for value, to in made.items() if to is not None and to != value})
        addresses = {value: values.address_bytes(value) for value in sorted(self._events.addresses())}
        self._events.change(texts, addresses, values.pseudonyms.shift % (1 << 64))

    def rewrite(self) -> None:
        """Put pseudonyms in the place of values, in every member and in the manifest."""
        values = self._values
        every = import_core().Substitution(values.pairs())
        equal = import_core().Substitution(values.equal_pairs())
        for source in self._sources:
            self._events.visit(str(self._folder), source)
        for number, each in enumerate(self._members):
            self._progress("rewriting", number, len(self._members))
            path = self._folder / each["path"]
            if each["kind"] in members.BINARY and each["path"] != "symbols/objects.tsv":
                if each["kind"] in members.EVENTS:
                    events.move_hex(path, values)
                self._symbols.rewrite(each["path"], values)
                equal.apply_file(str(path))
            else:
                made = path.with_name(f".{path.name}")
                with made.open("wb") as out:
                    out.writelines(
                        members.rewritten(each["path"], each["kind"], self._pieces(each), values, every.apply)
                    )
                made.replace(path)
            name = every.apply(each["path"].encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
            if name != each["path"]:
                (self._folder / name).parent.mkdir(parents=True, exist_ok=True)
                path.rename(self._folder / name)
            self.packed.append((name, each["source"]))
        self.manifest, left_out = manifest.redacted(self._manifest, values, every.apply)
        if "recorder" not in self._manifest:
            # The member says it.
            self.manifest.pop("host", None)
        memory, unknown, _ = self._events.removed()
        self.manifest["redacted"] = {
            "version": perfcase.__version__,
            "replaced": list(load_privacy().classes),
            "left": ["symbol_name"] * bool(self._symbols.left),
            "not_searched": len(self.sealed),
            "removed": {
                "members": len(self.dropped), "properties": left_out, "samples_with_memory": memory, "events_without_format": unknown,
            },
        }  # fmt: skip

    def _pieces(self, member: dict[str, Any]) -> Iterable[bytes]:
        path = self._folder / member["path"]
        return members.frames_of(path) if member["kind"] == "proc_snapshots" else members.pieces_of(path)


class _Folder:
    """A private folder beside OUT: a disk that is full is full before OUT is touched.

    It is locked as long as its process lives. It holds private values: those of killed processes are removed by the next one there.
    """

    def __init__(self, output: Path) -> None:
        self._parent = output.parent

    def __enter__(self) -> Path:
        _remove_leftovers(self._parent)
        try:
            self._path, self._lock = _locked_folder(self._parent)
        except OSError as error:
            kind = "not_permitted" if isinstance(error, PermissionError) else "environment"
            raise PerfcaseError(kind, f"{self._parent}: cannot be written: {error.strerror}") from None
        return self._path

    def __exit__(self, kind: type | None, error: BaseException | None, _trace: object) -> None:
        shutil.rmtree(self._path, ignore_errors=True)
        os.close(self._lock)
        room = f"is there room in {self._parent}, and is its disk sound?"
        if isinstance(error, OSError):
            raise PerfcaseError("environment", f"{self._parent}: cannot be written: {error.strerror}", room) from error
        if isinstance(error, PerfcaseError) and error.kind == "environment" and not error.hint:
            raise PerfcaseError("environment", error.message, room) from error


def _locked_folder(parent: Path) -> tuple[Path, int]:
    """Make a folder, and lock it. Return it and what holds the lock."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        try:
            lock = _lock(path, wait=True)
        except FileNotFoundError:
            continue
        # Before it was locked, another process may have taken it for a leftover.
        if path.exists():
            return path, lock
        os.close(lock)


def _lock(path: Path, *, wait: bool) -> int:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        # Some file systems lock no folder. Nobody can tell there what is left over, so nothing is removed.
        if not wait:
            os.close(handle)
            raise
    return handle


def _remove_leftovers(parent: Path) -> None:
    """Remove the folders of processes that were killed."""
    for path in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            lock = _lock(path, wait=False)
            if os.fstat(lock).st_uid == os.geteuid():
                shutil.rmtree(path, ignore_errors=True)
            os.close(lock)


def _scan(packed: Path, folder: Path, values: Values, progress: Progress) -> None:
    """Read the archive again, and find no value in it: neither in a decompressed member nor in the manifest or a name.

    Raises:
        PerfcaseError: a value is left (input).
    """
    import_core().unpack(str(packed), str(folder))
    described = inspect(packed)
    every = import_core().Substitution(values.pairs())
    text = json.dumps(described["manifest"], ensure_ascii=False).encode("utf-8", "surrogateescape")
    _refuse(every.find(text), values, "manifest.json")
    for number, each in enumerate(described["members"]):
        progress("searching", number, len(described["members"]))
        _refuse(every.find(each["path"].encode("utf-8", "surrogateescape")), values, "the name of a member")
        _refuse(every.find_file(str(folder / each["path"])), values, each["path"])


def _refuse(found: tuple[bytes, int] | None, values: Values, name: str) -> None:
    if found:
        value, at = found
        title = values.class_of(value)
        message = f"{name}: a value of the class {title} is left at byte {at}; nothing was written"
        raise PerfcaseError(
            "input", message, "send this message to those who maintain perfcase; the value is not in it"
        )


def _place(key: str, packed: Path, key_file: Path, output: Path) -> None:
    """Put the key and the archive in their places: the key first, because without it the archive cannot be revealed."""
    partial = key_file.with_name(f".{key_file.name}.partial")
    is_new = not key_file.exists()
    try:
        partial.unlink(missing_ok=True)
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(key)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(key_file)
        try:
            packed.replace(output)
        except OSError:
            if is_new:
                key_file.unlink()
            raise
    except OSError as error:
        partial.unlink(missing_ok=True)
        kind = "not_permitted" if isinstance(error, PermissionError) else "environment"
        place = error.filename or output
        raise PerfcaseError(kind, f"{place}: cannot be written: {error.strerror}", "name another place") from None
