"""Imports that tests only read: each content is imported once by each build, for all tests and runs (``build/tests/imports``).

What tests an import itself, or changes what was imported, imports a copy of its own.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

import duckdb

from perfcase.case import database, query, store, wholeness
from tests.support.alone import BUILD, alone

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "sample-captures"
GENERATIONS_MAX = 2
"""Builds whose imports are kept."""
OPEN_MAX = 4
"""Imports whose database stays open. To open one takes DuckDB 45 ms, and 3 ms where this process has it open."""
_open: dict[Path, duckdb.DuckDBPyConnection] = {}


@cache
def imported(source: Path) -> store.Case:
    """The import of a capture, a file (``.xz`` is unpacked) or a folder of its parts; its folder is all tests' own."""
    name = source.name.removesuffix(".xz")
    folder = generation() / _digest(source)
    target = folder / f"{name.removesuffix('.perfcase')}.case"
    with alone(f"import-{folder.name}"):
        if not store.is_imported(target):
            with tempfile.TemporaryDirectory() as scratch:
                store.open_case(unpacked(source, Path(scratch)), target)
    case = store.Case(target, store.read_info(target), reused=True)
    _open[target] = query.connect(target)
    for oldest in list(_open)[:-OPEN_MAX]:
        _open.pop(oldest).close()
    return case


def unpacked(source: Path, folder: Path) -> Path:
    """A copy of a capture in a folder, as a user has it."""
    copy = folder / source.name.removesuffix(".xz")
    if source.is_dir():
        shutil.copytree(source, copy)
    elif source.suffix == ".xz":
        copy.write_bytes(lzma.decompress(source.read_bytes()))
    else:
        shutil.copy(source, copy)
    return copy


def placed(source: Path, folder: Path, *, is_fresh: bool = False) -> Path:
    """A copy of a capture in a folder, which was imported there: what is asked of it starts no import.

    ``is_fresh``: it keeps nothing that was asked of it before.
    """
    folder.mkdir(parents=True, exist_ok=True)
    copy, case = unpacked(source, folder), imported(source)
    here = store.default_folder(copy)
    here.mkdir()
    (here / "tables").symlink_to(case.folder / "tables")
    shutil.copyfile(case.folder / "case.duckdb", here / "case.duckdb")
    if not is_fresh and (case.folder / wholeness.KEPT).is_dir():
        shutil.copytree(case.folder / wholeness.KEPT, here / wholeness.KEPT, ignore=shutil.ignore_patterns(".*"))
    info = {**case.info, "importer": store.importer_id()}
    info["source"] = {**info["source"], "path": str(copy), "stamp": store.stamp(copy)}
    (here / "import.json").write_text(json.dumps(info))
    return copy


def _digest(source: Path) -> str:
    """The hash of a file's bytes, or of the names and bytes of a folder's files."""
    digest = hashlib.sha256()
    for path in sorted(path for path in source.rglob("*") if path.is_file()) if source.is_dir() else [source]:
        digest.update(f"{path.relative_to(source)}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:24]


@cache
def generation() -> Path:
    """The imports of this build: of this very importer and this schema. The oldest builds' go away."""
    core = hashlib.sha256(Path(store.import_core().__file__).read_bytes())
    core.update(f"{database.views_hash()} {store.IMPORT_FORMAT}".encode())
    imports = BUILD / "imports"
    here = imports / core.hexdigest()[:24]
    with alone("imports"):
        here.mkdir(parents=True, exist_ok=True)
        os.utime(here)
        for old in sorted(imports.iterdir(), key=lambda path: path.stat().st_mtime)[:-GENERATIONS_MAX]:
            shutil.rmtree(old)
    return here
