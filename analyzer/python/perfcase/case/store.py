"""From FILE to an imported folder: imports once, reuses from then on.

FILE is a ``.perfcase`` archive, a bare perf.data or trace.dat, a recorder's folder, or an imported folder. The import goes
to ``<name>.case/`` beside FILE (into the user's cache where that cannot be written): ``tables/*.parquet``, ``case.duckdb``
and ``import.json``. It is made in a folder of its own and renamed when it is whole, so one that is killed leaves nothing
half done; what it leaves behind, the next import of the same file removes.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from perfcase.case import database, enclosed, place, wholeness
from perfcase.catalogue.schema import load_tables
from perfcase.errors import PerfcaseError

Progress = enclosed.Progress
"""Called with the phase, the number of records so far, and how much of the recording's time is read and of how much, in ns, where that is known."""

_GENERATED = re.compile(r"perf-(\d{1,9})\.map|jit-(\d{1,9})\.dump")
IMPORT_FORMAT = 2
"""Version of import.json. An import of another version is made again."""


@dataclass(frozen=True)
class Case:
    """An imported folder."""

    folder: Path
    info: dict[str, Any]
    reused: bool
    tables: wholeness.Tables | None = None
    """As they were when the folder was opened, if they were there already."""

    @property
    def name(self) -> str:
        """The capture's name, for people."""
        return self.info.get("source", {}).get("name") or self.folder.name


def is_imported(folder: Path) -> bool:
    """Return whether this is a folder that an import made."""
    return (folder / "import.json").is_file() and (folder / "tables").is_dir()


def open_case(
    file: Path,
    out: Path | None = None,
    progress: Progress | None = None,
    *,
    force: bool = False,
    options: dict | None = None,
    debug_dirs: Sequence[Path] = (),
    meanwhile: Callable[[], object] | None = None,
    looks_inside: bool = True,
) -> Case:
    """Return the imported folder of FILE, imported now if it was not before (or if ``force``).

    An import that was given other ``debug_dirs`` is made again; an imported folder gets its names from them. ``meanwhile`` is called while
    the import runs, in another thread. ``looks_inside``: false for one of many captures, whose tables are then judged by their sizes.
    """
    given = [str(place.absolute()) for place in debug_dirs]
    if not file.exists():
        raise PerfcaseError("not_found", f"{file}: no such file")
    if is_imported(file):
        if out is not None or force:
            raise PerfcaseError("usage", f"{file}: is an imported folder already", "give the capture it was made from")
        info, tables = read_info(file), _tables_in(file)
        if damaged := wholeness.damage(file, info, tables, looks_inside=looks_inside):
            raise PerfcaseError("input", damaged, "import the capture again")
        case = Case(file, _refresh_views(file, info), reused=True, tables=tables)
        if not _has_dirs(case.info, given):
            case, _ = symbolize(case, debug_dirs)
        return case
    target = out if out is not None else default_folder(file)
    wanted = {"format": IMPORT_FORMAT, "importer": importer_id(), "options": options or {}}
    if not force:
        found = _reusable(target, file, wanted, given, looks_inside=looks_inside)
        if found:
            place.sweep(target)
            return found
    with place.locked(target):
        found = None if force else _reusable(target, file, wanted, given, looks_inside=looks_inside)
        return found or _import(file, target, wanted, given, progress, meanwhile)


def symbolize(case: Case, debug_dirs: Sequence[Path]) -> tuple[Case, list[dict[str, Any]]]:
    """Add names to an imported folder without importing again. Return what became of each object.

    The new folder is made beside the old one and exchanged with it at once: a reader sees the one or the other.
    """
    folder = case.folder.resolve()
    working = place.working_folder(folder)
    with place.locked(folder):
        place.remove_leftovers(folder)
        try:
            # What is kept is of the tables as they were.
            shutil.copytree(folder, working, copy_function=_link, ignore=shutil.ignore_patterns(wholeness.KEPT))
            made = working / "symbolized"
            made.mkdir()
            with enclosed.begun(enclosed.symbolize_job(folder, made, debug_dirs)) as result_of:
                objects = result_of(None)
            for table in made.iterdir():
                table.replace(working / "tables" / table.name)
            made.rmdir()
            info = read_info(folder)
            for table in ("frame", "function_code", "function_line"):
                info["tables"][table] = _row_count(working, table)
            places = [str(place.absolute()) for place in debug_dirs]
            info["debug_dirs"] = list(dict.fromkeys([*info.get("debug_dirs", []), *places]))
            info["files"] = wholeness.sizes(working)
            _write_json(working / "import.json", info)
            wholeness.flush(working)
            place.exchange(working, folder)
        except OSError as error:
            raise place.unwritable(folder, error) from error
        finally:
            shutil.rmtree(working, ignore_errors=True)
    return Case(case.folder, info, reused=True), objects


def default_folder(file: Path) -> Path:
    """Return where FILE is imported to: beside it, or in the user's cache where that is not writable."""
    path = file.absolute()
    name = f"{path.name.removesuffix('.perfcase')}.case"
    beside = path.parent / name
    if os.access(path.parent, os.W_OK | os.X_OK):
        return beside
    if is_imported(beside):
        return beside
    key = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]
    return database.cache_folder() / key / name


def damage_of(files: Iterable[Path]) -> PerfcaseError | None:
    """Return the error that says which table of their imports cannot be read: used after a query failed."""
    for file in files:
        folder = file if is_imported(file) else default_folder(file)
        if is_imported(folder) and (reason := wholeness.unreadable(folder)):
            remedy = "import the capture again" if folder == file else f"perfcase import --force {file}"
            return PerfcaseError("input", reason, remedy)
    return None


def importer_id() -> str:
    """Return what the tables of an import depend on apart from the file: the version and the build of the core."""
    core = Path(import_core().__file__).stat()
    return f"{import_core().__version__}:{core.st_size}:{core.st_mtime_ns}"


def is_current(folder: Path) -> bool:
    """Return whether an imported folder is as this version of perfcase makes it. ``is_whole`` looks at its tables."""
    try:
        info = read_info(folder)
    except PerfcaseError:
        return False
    made = (info.get("format"), info.get("perfcase_version"), info.get("views"))
    wanted = (IMPORT_FORMAT, import_core().__version__, database.views_hash())
    return made == wanted and wholeness.has_database(folder, info)


def why_again(file: Path) -> str | None:
    """Return why much of what was worked out of FILE before is worked out again now; None where it is not, or was never imported."""
    folder = file if is_imported(file) else default_folder(file)
    if not is_imported(folder):
        return None
    try:
        info = read_info(folder)
    except PerfcaseError:
        return None
    if folder != file and (info.get("format"), info.get("importer")) != (IMPORT_FORMAT, importer_id()):
        return "another build of perfcase imported it, so it was imported again"
    if info.get("views") != database.views_hash():
        return "its views are of another perfcase, so the findings and the report are worked out again"
    return None


def is_whole(folder: Path) -> bool:
    """Return whether the tables of an imported folder are there, as far as their sizes and ends say."""
    try:
        return wholeness.damage(folder, read_info(folder), _tables_in(folder)) is None
    except PerfcaseError:
        return False


def read_info(folder: Path) -> dict[str, Any]:
    """Return the import.json of an imported folder."""
    path = folder / "import.json"
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PerfcaseError("input", f"{path}: cannot be read: {error}", "import the capture again") from error
    if not isinstance(info, dict) or not isinstance(info.get("tables"), dict) or not _are_sizes(info.get("files", {})):
        raise PerfcaseError("input", f"{path}: not written by perfcase import", "import the capture again")
    return info


def _tables_in(folder: Path) -> wholeness.Tables:
    try:
        return wholeness.tables_in(folder)
    except OSError as error:
        raise PerfcaseError("input", f"{folder}/tables: {error.strerror}", "import the capture again") from error


def _are_sizes(files: object) -> bool:
    """Return whether these are sizes of files by their names: an import whose process was taken over may have written anything."""
    return isinstance(files, dict) and all(type(size) is int and 0 <= size < 1 << 62 for size in files.values())


def stamp(file: Path) -> dict[str, int]:
    """Return the size and time of a capture, which are cheap to compare. For a folder: those of all its files together."""
    stats = [file.stat()] if file.is_file() else [p.stat() for p in sorted(file.rglob("*")) if p.is_file()]
    return {
        "files": len(stats),
        "size_bytes": sum(stat.st_size for stat in stats),
        "mtime_ns": max((stat.st_mtime_ns for stat in stats), default=0),
    }


def import_core() -> Any:  # noqa: ANN401 - a module
    """Return the import core, a compiled module."""
    try:
        from perfcase import _core
    except ImportError as error:
        raise PerfcaseError("environment", f"the import core is not built: {error}", "run make setup") from error
    return _core


def _has_dirs(info: dict[str, Any], debug_dirs: Sequence[str]) -> bool:
    """Return whether names of these places are in an import already."""
    return set(debug_dirs) <= set(info.get("debug_dirs", []))


def _generated(file: Path) -> list[str]:
    """Return files beside a recording that name generated code: perf-PID.map, jit-PID.dump."""
    if file.is_dir():
        return []  # its stamp tells
    try:
        with os.scandir(file.resolve().parent) as entries:
            return sorted(entry.name for entry in entries if _GENERATED.fullmatch(entry.name))
    except OSError:
        return []


def _has_new_names(target: Path, file: Path, info: dict[str, Any]) -> bool:
    """Return whether names of a process's generated code have come since it was imported."""
    new = set(_generated(file)) - set(info.get("generated", []))
    pids = [int(found[1] or found[2]) for name in new if (found := _GENERATED.fullmatch(name))]
    row = _table_row(target, "process", f"count(*) FILTER (list_contains({pids}, pid))") if pids else None
    return row is not None and row[0] > 0


def _row_count(folder: Path, table: str) -> int:
    row = _table_row(folder, table, "count(*)")
    assert row is not None
    return row[0]


def _table_row(folder: Path, table: str, columns: str) -> tuple[Any, ...] | None:
    # On a connection of its own: a result that is not read to its end would block the one that all of the process shares.
    from perfcase.lazy import duckdb

    path = glob.escape(str(folder / "tables" / f"{table}.parquet"))
    with duckdb.cursor() as connection:
        return connection.execute(f"SELECT {columns} FROM read_parquet($1)", [path]).fetchone()


def _link(source: str, target: str) -> None:
    """Create a hard link, or a copy if the file system has no links. No file is written to again."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _reusable(
    target: Path, file: Path, wanted: dict[str, Any], debug_dirs: Sequence[str], *, looks_inside: bool
) -> Case | None:
    """Return the import at ``target`` if it was made from the same file by the same importer."""
    if not is_imported(target):
        return None
    try:
        info, tables = read_info(target), _tables_in(target)
    except PerfcaseError:
        return None
    if any(info.get(key) != value for key, value in wanted.items()) or not _has_dirs(info, debug_dirs):
        return None
    if wholeness.damage(target, info, tables, looks_inside=looks_inside):
        return None
    if looks_inside and not wholeness.has_readable_ends(target):
        return None
    source = info.get("source", {})
    if source.get("stamp") != stamp(file) and source.get("capture_id") != import_core().hash_file(str(file)):
        return None
    if _has_new_names(target, file, info):
        return None
    return Case(target, _refresh_views(target, info), reused=True, tables=tables)


def _refresh_views(folder: Path, info: dict[str, Any]) -> dict[str, Any]:
    """Write case.duckdb again if the views have changed since, or if it is broken. The tables stay."""
    current = database.views_hash()
    if info.get("views") == current and wholeness.has_database(folder, info):
        return info
    _check_columns(folder)
    if os.access(folder, os.W_OK):
        database.write(folder, info["other_columns"])
        info = {**info, "views": current, "files": wholeness.sizes(folder)}
        _write_json(folder / "import.json", info)
    return info


def _check_columns(folder: Path) -> None:
    """Check the columns: tables of an older perfcase may lack some that the views need."""
    from perfcase.lazy import duckdb

    with duckdb.cursor() as connection:
        for table in load_tables().values():
            path = folder / "tables" / f"{table.name}.parquet"
            if not path.is_file():
                raise PerfcaseError("input", f"{path}: is missing", "import the capture again")
            described = connection.execute(
                "DESCRIBE SELECT * FROM read_parquet($1)", [glob.escape(str(path))]
            ).fetchall()
            lacking = {column.name for column in table.columns} - {row[0] for row in described}
            if lacking:
                reason = (
                    f"{folder}: another version of perfcase made it: {table.name} has no {', '.join(sorted(lacking))}"
                )
                raise PerfcaseError("input", reason, "import the capture again")


def _rights_of(file: Path) -> int:
    """Return the mode of the folder: only users who can read the capture can read the import."""
    readers = file.stat().st_mode & 0o444
    return 0o700 | readers | readers >> 2


def _import(
    file: Path,
    target: Path,
    wanted: dict[str, Any],
    debug_dirs: Sequence[str],
    progress: Progress | None,
    meanwhile: Callable[[], object] | None,
) -> Case:
    is_empty = target.is_dir() and not any(target.iterdir())
    if target.exists() and not is_empty and not (target.is_dir() and wholeness.is_ours(target)):
        raise PerfcaseError("usage", f"{target}: exists and is not an imported folder", "name another with -o")
    place.remove_leftovers(target)
    working = place.working_folder(target)
    started = time.monotonic()
    try:
        working.mkdir(_rights_of(file))
        before, generated = stamp(file), _generated(file)
        given = {"name": file.name, "debug_dirs": list(debug_dirs), **wanted["options"]}
        job = enclosed.import_job(file, working, given, _GENERATED.fullmatch)
        with enclosed.begun(job) as result_of:
            # What an import needs at its end loads, and the template is made if it has to be, while the core reads the file.
            preparation = threading.Thread(target=_prepare, args=(meanwhile,))
            preparation.start()
            try:
                result = result_of(progress)
            finally:
                # DuckDB's own threads do not survive an interpreter that ends under them.
                preparation.join()
        database.write(working, result["other_columns"])
        info = {
            **wanted,
            "perfcase_version": import_core().__version__,
            "views": database.views_hash(),
            "source": {
                "name": given["name"],
                "path": str(file.absolute()),
                "stamp": before,
                "capture_id": result["capture_id"],
            },
            "capture": result["capture"],
            "imported_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "duration_s": round(time.monotonic() - started, 3),
            "tables": dict(sorted(result["tables"].items())),
            "files": wholeness.sizes(working),
            "other_columns": result["other_columns"],
            "debug_dirs": list(debug_dirs),
            "generated": generated,
            "issues": result["issues"],
            **({"unenclosed": job.unenclosed} if job.unenclosed else {}),
        }
        _write_json(working / "import.json", info)
        wholeness.flush(working)
        place.put_in_place(working, target)
    except OSError as error:
        raise place.unwritable(target, error) from error
    finally:
        shutil.rmtree(working, ignore_errors=True)
    return Case(target, info, reused=False)


def _prepare(meanwhile: Callable[[], object] | None) -> None:
    # Whatever fails here fails again, and is reported, where the template is used.
    with suppress(Exception):
        database.template()
        import_module("perfcase.terminal.render").console()
    if meanwhile:
        meanwhile()


def _write_json(path: Path, value: object) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)
