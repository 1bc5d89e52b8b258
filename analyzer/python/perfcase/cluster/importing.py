"""Captures are imported by the workers of a cluster, each beside its file."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_IMPORT = "import sys; from perfcase.cli.main import run; sys.exit(run(['import', sys.argv[1]]))"


@dataclass(frozen=True)
class Imported:
    """What became of one capture."""

    number: int
    """Its place in the list."""
    code: int
    """The exit code of ``perfcase import``."""
    said: str
    """Its last line: the folder and the number of rows, or the error."""


def import_all(session: SparkSession, files: Sequence[Path]) -> Iterator[Imported]:
    """Import captures on the cluster and yield what became of each, as they end. The workers see the files by the same paths, and may
    write beside them; they have a Python with perfcase (PYSPARK_PYTHON)."""
    context = session.sparkContext
    work = context.parallelize(list(enumerate(str(path.absolute()) for path in files)), len(files))
    for number, code, said in work.map(_one).toLocalIterator(prefetchPartitions=True):
        yield Imported(number, code, said)


def _one(numbered: tuple[int, str]) -> tuple[int, int, str]:
    number, path = numbered
    done = subprocess.run([sys.executable, "-c", _IMPORT, path], capture_output=True, check=False)
    lines = (done.stderr if done.returncode else done.stdout).decode(errors="replace").strip().splitlines()
    return number, done.returncode, lines[-1] if lines else ""
