"""Names of functions of private objects: those below homes and the paths of rules, and the generated code of programs from there.

What stands for a name is as long as what people see of it, not as what the file has: two functions with one name to people have one
pseudonym, and a picture has the same widths.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from perfcase.case.store import import_core
from perfcase.catalogue.privacy import load_privacy
from perfcase.lazy import duckdb
from perfcase.redaction import members
from perfcase.redaction.values import Values

_LINE = re.compile(rb"(?m)^((?:0x)?[0-9A-Fa-f]+ (?:0x)?[0-9A-Fa-f]+ )([^\r\n]+)")
"""A line of a perf map."""
_OCTAL = re.compile(rb"\\([0-7]{3})")
_GENERATED = re.compile(r"\[JIT\] tid ([0-9]+)")
"""The path of the object of a process's generated code."""
_SHORT = 3
"""A name of so many bytes stays: in a text nobody could translate it back."""


class Symbols:
    """The names of functions in the members below ``symbols/``, and what stands for those of private objects."""

    def __init__(
        self, folder: Path, names: Iterable[str], values: Values, connection: duckdb.DuckDBPyConnection
    ) -> None:
        """Find the private ones of these members of an unpacked archive."""
        self.left: list[str] = []
        """Private members in which the names stay: they hold more than a table."""
        self._folder = folder
        self._values = values
        self._tables: dict[str, list[tuple[bytes, str, bool]]] = {}
        self._maps: set[str] = set()
        self._made: dict[bytes, bytes] = {}
        self._paths = _listed(folder / "symbols" / "objects.tsv")
        self._find(names, connection)
        self._public = self._public_names(connection)

    def _find(self, names: Iterable[str], connection: duckdb.DuckDBPyConnection) -> None:
        rules = self._values.rules
        dsos = connection.sql("SELECT DISTINCT path, build_id FROM dso WHERE build_id IS NOT NULL").fetchall()
        private = {f"elf/{build}" for path, build in dsos if rules.whole.match(_bytes(path))}
        private |= {name for name, paths in self._paths.items() if any(map(rules.whole.match, paths))}
        lines = connection.sql("SELECT pid, command_line FROM proc_command WHERE command_line IS NOT NULL").fetchall()
        processes = {str(pid) for pid, line in lines if rules.paths.search(_bytes(line))}
        for name in names:
            member = name.removeprefix("symbols/")
            kind, _, rest = member.partition("/")
            path = self._folder / name
            if kind in ("elf", "debug") and (member in private or f"elf/{rest}" in private):
                found = import_core().symbol_names(str(path))
                if found is None:
                    self.left.append(name)
                else:
                    self._tables[name] = found
            elif kind in ("perf-map", "jitdump") and (
                member in private
                or rest.partition("-")[0] in processes
                or any(rules.paths.search(piece) for piece in members.pieces_of(path))
            ):
                if kind == "jitdump":
                    self.left.append(name)
                else:
                    self._maps.add(name)

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

    def learn(self) -> None:
        """Make every private name known."""
        every = [each for found in self._tables.values() for each in found]
        for raw, shown, is_defined in every:
            if is_defined and raw not in self._made:
                made = self._name(shown.encode())
                self._made[raw] = raw if made == shown.encode() else made
        for raw, _, _ in every:
            # What it calls in other objects.
            self._made.setdefault(raw, raw)
        for name in sorted(self._maps):
            for piece in members.pieces_of(self._folder / name):
                self._lines(piece)

    def rewrite(self, name: str) -> None:
        """Put pseudonyms in the place of the names in a member, if it is a private one."""
        path = self._folder / name
        if name in self._tables:
            import_core().rename_symbols(str(path), self._made)
        elif name in self._maps:
            made = path.with_name(f".{path.name}")
            with made.open("wb") as out:
                out.writelines(map(self._lines, members.pieces_of(path)))
            made.replace(path)

    def _lines(self, piece: bytes) -> bytes:
        return _LINE.sub(lambda found: found[1] + self._name(found[2]), piece)

    def _name(self, name: bytes) -> bytes:
        shown = name.decode("utf-8", "replace")
        is_kept = (
            len(name.lstrip(b"_")) <= _SHORT or shown in self._public or load_privacy().kept_symbols.fullmatch(shown)
        )
        return name if is_kept else self._values.symbol(name)


def _listed(file: Path) -> dict[str, list[bytes]]:
    """Return the paths that the list of symbol files says of each member."""
    paths: dict[str, list[bytes]] = {}
    for line in file.read_bytes().split(b"\n") if file.is_file() else ():
        columns = line.split(b"\t")
        if len(columns) > 3:
            path = _OCTAL.sub(lambda found: bytes([int(found[1], 8) & 0xFF]), columns[3])
            paths.setdefault(columns[0].decode("utf-8", "replace"), []).append(path)
    return paths


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
