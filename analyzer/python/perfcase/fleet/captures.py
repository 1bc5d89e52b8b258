"""The captures of a folder: found, imported, described; those that cannot be read are kept with the reason.

A store belongs to the one who filled it: links are not followed, and what is looked at is bounded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from perfcase.case import facts, remote, store
from perfcase.case.facts import Facts
from perfcase.case.wholeness import Tables
from perfcase.errors import PerfcaseError
from perfcase.lazy import duckdb

DEPTH_MAX = 16
"""Folders below STORE."""
ENTRIES_MAX = 1_000_000
"""Files and folders that are looked at."""
CAPTURES_MAX = 10_000

Progress = Callable[[str, int, int], None]
"""Told the name of the capture at work, its number and how many there are."""

_MAGICS = (b"PERFILE2", b"2ELIFREP", b"\x17\x08\x44tracing")
_MANIFEST_START_BYTES = 4096
"""How much of a manifest.json is read, to see whether it is one of ours."""


@dataclass(frozen=True)
class Capture:
    """A capture that could be opened, with what it says about itself."""

    name: str
    """Its path below the store, for people."""
    folder: Path
    """Its import."""
    capture_id: str | None
    started_realtime_ns: int | None
    duration_ns: int | None
    host: str | None
    ticket: str | None
    note: str | None
    labels: tuple[str, ...]
    kernel: str | None
    cpu_count: int | None
    cpu_model: str | None
    tables: Tables | None = None
    """As they were when it was opened."""

    @property
    def time_key(self) -> tuple[bool, int, str]:
        """Sorts by time, those without a time last."""
        started = self.started_realtime_ns
        return started is None, started or 0, self.name


@dataclass(frozen=True)
class SkippedCapture:
    """A capture, or a part of the store, that is not in the answer, and why."""

    name: str
    reason: str


@dataclass
class Fleet:
    """What a store holds."""

    captures: list[Capture] = field(default_factory=list)
    left_out: list[SkippedCapture] = field(default_factory=list)


def load(
    stores: Sequence[Path | str],
    progress: Progress | None = None,
    filed: Mapping[Path, tuple[str, Sequence[str]]] | None = None,
) -> Fleet:
    """Return every capture of these folders and URLs, by time. ``filed``: ticket and labels that one is kept under, instead of its own."""
    fleet = Fleet()
    found = [
        (name, locate, root)
        for root in stores
        for name, locate in _located(root, fleet.left_out, is_whole=len(stores) > 1)
    ]
    opened: list[tuple[str, store.Case, Path | str]] = []
    for number, (name, locate, root) in enumerate(found):
        if progress:
            progress(name, number, len(found))
        try:
            opened.append((name, store.open_case(locate(), looks_inside=False), root))
        except PerfcaseError as error:
            fleet.left_out.append(SkippedCapture(name, str(error)))
    told = {case.folder: known for _, case, _ in opened if (known := facts.told(case.info))}
    told |= facts.read_all(case.folder for _, case, _ in opened if case.folder not in told)
    by_id: dict[str, str] = {}
    for name, case, root in opened:
        try:
            capture = _capture(name, case, told.get(case.folder))
        except PerfcaseError as error:
            fleet.left_out.append(SkippedCapture(name, str(error)))
            continue
        if filed and root in filed:
            ticket, labels = filed[root]
            capture = replace(capture, ticket=ticket or None, labels=tuple(labels))
        same = by_id.setdefault(capture.capture_id, name) if capture.capture_id else name
        if same != name:
            fleet.left_out.append(SkippedCapture(name, f"is the same capture as {same}"))
            continue
        fleet.captures.append(capture)
    fleet.captures.sort(key=lambda capture: capture.time_key)
    return fleet


def places(roots: Sequence[Path | str]) -> tuple[list[tuple[str, Path]], list[SkippedCapture]]:
    """Return the captures below these folders and URLs as they are, imported or not: the name and the path of each; and what is none of them: an
    object that cannot be copied, a folder that cannot be listed."""
    found: list[tuple[str, Path]] = []
    left_out: list[SkippedCapture] = []
    for root in roots:
        for name, locate in _located(root, left_out, is_whole=len(roots) > 1):
            try:
                found.append((name, locate()))
            except PerfcaseError as error:
                left_out.append(SkippedCapture(name, str(error)))
    return found, left_out


def _capture(name: str, case: store.Case, told: Facts | None) -> Capture:
    try:
        known = vars(told or facts.read(case.folder))
    except duckdb.Error as error:
        path = case.folder / "tables" / "capture.parquet"
        raise PerfcaseError("input", f"{path}: {str(error).splitlines()[0]}", "import the capture again") from error
    labels = tuple(filter(None, (known["labels"] or "").split(",")))
    return Capture(name, case.folder, **{**known, "labels": labels}, tables=case.tables)


def _located(
    root: Path | str, left_out: list[SkippedCapture], *, is_whole: bool
) -> Iterator[tuple[str, Callable[[], Path]]]:
    """Return the captures below a folder or a URL: the name of each, and what gives its path. ``is_whole``: names are whole, as below
    several stores there may be the same ones."""
    if isinstance(root, Path):
        for place in _find(root, left_out):
            yield str(place if is_whole or place == root else place.relative_to(root)), partial(Path, place)
        return
    objects = remote.below(root)
    if len(objects) > CAPTURES_MAX:
        left_out.append(_too_many(remote.shown(root)))
    for each in objects[:CAPTURES_MAX]:
        yield remote.shown(each.url) if is_whole else each.name, partial(remote.copy, each)


def _too_many(name: str) -> SkippedCapture:
    return SkippedCapture(name, f"the store holds more than {CAPTURES_MAX:,} captures; name a part of it")


def _find(root: Path, left_out: list[SkippedCapture]) -> list[Path]:
    """Return the captures below a folder, in the order of their names; ``root`` itself if it is one."""
    if not root.exists():
        raise PerfcaseError("not_found", f"{root}: no such folder")
    if not root.is_dir() or _is_capture_folder(root):
        return [root]
    found: list[Path] = []
    for place in _walk(root, left_out):
        if len(found) == CAPTURES_MAX:
            left_out.append(_too_many(place.name))
            break
        found.append(place)
    # An import beside its capture is not another capture.
    made = {place.parent / f"{place.name.removesuffix('.perfcase')}.case" for place in found}
    # Captures before imports: of a capture and an import of it elsewhere, the capture counts.
    return sorted((place for place in found if place not in made), key=lambda place: (store.is_imported(place), place))


def _walk(root: Path, left_out: list[SkippedCapture]) -> Iterator[Path]:
    pending = [(root, 0)]
    looked_at = 0
    while pending:
        folder, depth = pending.pop()
        try:
            with os.scandir(folder) as listed:
                entries = sorted(_bounded(listed, ENTRIES_MAX - looked_at), key=lambda entry: entry.name)
        except OSError as error:
            left_out.append(SkippedCapture(str(folder.relative_to(root)), f"cannot be listed: {error.strerror}"))
            continue
        looked_at += len(entries)
        if looked_at >= ENTRIES_MAX:
            left_out.append(SkippedCapture(str(folder.relative_to(root)), f"only {ENTRIES_MAX:,} files are looked at"))
            pending.clear()
        for entry in entries:
            path = folder / entry.name
            if entry.name.startswith(".") or entry.is_symlink():
                continue
            if entry.is_file(follow_symlinks=False):
                if _is_capture_file(path):
                    yield path
            elif entry.is_dir(follow_symlinks=False):
                if _is_capture_folder(path):
                    yield path
                elif depth < DEPTH_MAX:
                    pending.append((path, depth + 1))
                else:
                    left_out.append(SkippedCapture(str(path.relative_to(root)), f"more than {DEPTH_MAX} folders deep"))


def _bounded(entries: Iterable[os.DirEntry[str]], most: int) -> Iterator[os.DirEntry[str]]:
    for number, entry in enumerate(entries):
        if number >= most:
            return
        yield entry


def _is_capture_file(path: Path) -> bool:
    return path.suffix == ".perfcase" or _start(path, 10).startswith(_MAGICS)


def _is_capture_folder(path: Path) -> bool:
    """Return an imported folder or a recorder's."""
    manifest = path / "manifest.json"
    return store.is_imported(path) or (
        manifest.is_file() and not manifest.is_symlink() and b'"perfcase"' in _start(manifest, _MANIFEST_START_BYTES)
    )


def _start(path: Path, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""
