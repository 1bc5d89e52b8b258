"""Names of functions of private objects: those outside the folders of the distribution, and the code that runtimes generate.

What stands for a name is as long as what people see of it, not as what the file has: two functions with one name to people have one
pseudonym, and a picture has the same widths.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from perfcase.case.store import import_core
from perfcase.catalogue.privacy import load_privacy
from perfcase.lazy import duckdb
from perfcase.redaction import members
from perfcase.redaction.private import Rules
from perfcase.redaction.values import Values

_LINE = re.compile(rb"([0-9A-Fa-fx+]+ [0-9A-Fa-fx+]+ )(.+?)(\r?)", re.DOTALL)
"""A line of a perf map, as the import reads it."""
_OCTAL = re.compile(rb"\\([0-7]{3})")
_GENERATED = re.compile(r"\[JIT\] tid ([0-9]+)")
"""The path of the object of a process's generated code."""
_SHORT = 3
"""A name of so many bytes stays: in a text nobody could translate it back."""
_PLT = "@plt"


class Symbols:
    """The names of functions in the members below ``symbols/``, and what stands for those of private objects."""

    def __init__(self, folder: Path, names: Iterable[str], rules: Rules, connection: duckdb.DuckDBPyConnection) -> None:
        """Find the private ones of these members of an unpacked archive."""
        self.left: list[str] = []
        """Private members in which the names stay: they hold more than a table."""
        self._folder = folder
        self._rules = rules
        self._tables: dict[str, list[tuple[bytes, str, bool]]] = {}
        self._maps: set[str] = set()
        self._foreign: set[bytes] = set()
        """Names of functions in objects that are not private, and in the kernel."""
        self._made: dict[bytes, bytes] = {}
        self._paths = _listed(folder / "symbols" / "objects.tsv")
        self._find(names, connection)
        self._public = self._public_names(connection)

    def _find(self, names: Iterable[str], connection: duckdb.DuckDBPyConnection) -> None:
        dsos = connection.sql("SELECT DISTINCT path, build_id FROM dso WHERE build_id IS NOT NULL").fetchall()
        for path, build in dsos:
            self._paths.setdefault(f"elf/{build}", []).append(_bytes(path))
        for name in names:
            member = name.removeprefix("symbols/")
            kind, _, rest = member.partition("/")
            path = str(self._folder / name)
            paths = self._paths.get(member, []) + (self._paths.get(f"elf/{rest}", []) if kind == "debug" else [])
            # Nobody knows where an object without a path lies.
            is_private = not paths or any(map(self._rules.is_private_object, paths))
            if kind in ("elf", "debug") and is_private:
                found = import_core().symbol_names(path)
                if found is None:
                    self.left.append(name)
                else:
                    self._tables[name] = found
            elif kind in ("elf", "debug", "vdso", "vdso32"):
                of_it = import_core().some_symbol_names(path)
                self._foreign.update(each for raw, shown, here in of_it if here for each in (raw, shown.encode()))
            elif kind == "perf-map" and is_private:
                self._maps.add(name)
            elif kind == "jitdump" and is_private:
                self.left.append(name)
        for line in _lines(self._folder / "host" / "kallsyms"):
            self._foreign.update(line.split()[2:3])

    def _public_names(self, connection: duckdb.DuckDBPyConnection) -> set[str]:
        """Return the names that other objects have too: such a name is one row of an answer before and after."""
        members_of = {name.removeprefix("symbols/") for name in self._tables}
        paths = {path for member in members_of for path in self._paths.get(member, ())}
        builds = {member.partition("/")[2] for member in members_of}

        def is_private(path: str | None, build_id: str | None) -> bool:
            if path is None:
                return False
            generated = _GENERATED.fullmatch(path)
            is_map = generated is not None and f"symbols/perf-map/{generated[1]}" in self._maps
            return is_map or build_id in builds or _bytes(path) in paths

        rows = connection.sql(
            "SELECT DISTINCT f.symbol, d.path, d.build_id FROM frame AS f LEFT JOIN dso AS d USING (dso_id)"
            " WHERE f.symbol IS NOT NULL"
        ).fetchall()
        return {symbol for symbol, path, build_id in rows if not is_private(path, build_id)}

    def private_names(self) -> set[str]:
        """Return what people see of the names that get a pseudonym."""
        shown = {shown for _, shown, is_defined in self._every() if is_defined}
        shown.update(name.decode() for path in self._maps for _, name, _ in self._mapped(path) if name)
        return {name for name in shown if not self._is_kept(name)}

    def learn(self, values: Values) -> None:
        """Make every private name known."""
        for raw, shown, is_defined in self._every():
            if is_defined and raw not in self._made:
                self._made[raw] = self._name(raw, shown, values)
        for raw, shown, is_defined in self._every():
            # What it calls in other objects.
            if not is_defined and raw not in self._made:
                is_known = raw in self._foreign or shown + _PLT in self._public
                self._made[raw] = raw if is_known else self._name(raw, shown, values)
        for path in sorted(self._maps):
            for _, name, _ in self._mapped(path):
                self._name(name, name.decode(), values)

    def rewrite(self, name: str, values: Values) -> None:
        """Put pseudonyms in the place of the names in a member, if it is a private one."""
        path = self._folder / name
        if name in self._tables:
            import_core().rename_symbols(str(path), self._made)
        elif name in self._maps:
            made = path.with_name(f".{path.name}")
            with made.open("wb") as out:
                for head, each, end in self._mapped(name):
                    out.write(head + self._name(each, each.decode(), values) + end)
            made.replace(path)

    def _every(self) -> Iterator[tuple[bytes, str, bool]]:
        for found in self._tables.values():
            yield from found

    def _mapped(self, name: str) -> Iterator[tuple[bytes, bytes, bytes]]:
        """Yield the lines of a perf map: what stands before the name, the name as people see it, and the end of the line.

        A line that the import does not read has nothing but its end.
        """
        for line in _lines(self._folder / name):
            text = line.removesuffix(b"\n")
            found = _LINE.fullmatch(text)
            end = line[len(text) :]
            yield (found[1], found[2].decode("utf-8", "replace").encode(), found[3] + end) if found else (b"", b"", end)

    def _is_kept(self, shown: str) -> bool:
        is_short = len(shown.lstrip("_").encode()) <= _SHORT
        return is_short or shown in self._public or load_privacy().kept_symbols.fullmatch(shown) is not None

    def _name(self, raw: bytes, shown: str, values: Values) -> bytes:
        if not raw or self._is_kept(shown):
            return raw
        is_foreign = raw in self._foreign or shown.encode() in self._foreign
        return values.symbol(raw, shown.encode(), is_searched=not is_foreign)


def _lines(file: Path) -> Iterator[bytes]:
    if file.is_file():
        for piece in members.pieces_of(file):
            yield from re.findall(rb"[^\n]*\n|[^\n]+", piece)


def _listed(file: Path) -> dict[str, list[bytes]]:
    """Return the paths that the list of symbol files says of each member."""
    paths: dict[str, list[bytes]] = {}
    for line in _lines(file):
        columns = line.split(b"\t")
        if len(columns) > 3:
            path = _OCTAL.sub(lambda found: bytes([int(found[1], 8) & 0xFF]), columns[3])
            paths.setdefault(columns[0].decode("utf-8", "replace"), []).append(path)
    return paths


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
