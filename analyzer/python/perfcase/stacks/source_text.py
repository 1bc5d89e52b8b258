"""Lines of source files below folders that the user names. A path of a capture is not trusted: it only chooses one of those files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from perfcase.errors import PerfcaseError

FILE_BYTES_MAX = 16 << 20
LINE_MAX = 400
"""Characters of a line that are shown."""
_FILES_MAX = 1000
_PARTS_MAX = 64


class SourceText:
    """The files below these folders. A capture's path is looked for below each folder as a whole, then without its first
    folder, and so on: src/main.c of /build/app/src/main.c."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Read nothing yet.

        Raises:
            PerfcaseError: one is no folder (not_found).
        """
        for folder in folders:
            if not folder.is_dir():
                raise PerfcaseError(
                    "not_found", f"{folder}: no such folder", "--source DIR: where the source files are"
                )
        self.folders = [folder.resolve() for folder in folders]
        self._files: dict[str, list[str] | None] = {}

    def line(self, file: str, number: int) -> str | None:
        """Return a line of a file, without the blanks at its end; None where the file is not there, or shorter."""
        if file not in self._files:
            self._files[file] = self._read(file) if len(self._files) < _FILES_MAX else None
        lines = self._files[file]
        return lines[number - 1].rstrip()[:LINE_MAX] if lines and 0 < number <= len(lines) else None

    @property
    def missing(self) -> list[str]:
        """Return the files that were asked for and are not there."""
        return [file for file, lines in self._files.items() if lines is None]

    def _read(self, file: str) -> list[str] | None:
        parts = [part for part in PurePosixPath(file).parts if part != "/"]
        if not parts or ".." in parts or len(parts) > _PARTS_MAX or "\0" in file:
            return None
        for first in range(len(parts)):
            for folder in self.folders:
                lines = _lines(folder, folder.joinpath(*parts[first:]))
                if lines is not None:
                    return lines
        return None


def _lines(folder: Path, path: Path) -> list[str] | None:
    """Return the lines of a file, if it is one of this folder and no link leads out."""
    try:
        found = path.resolve()
        size = found.stat().st_size
        # One of no bytes may be of /proc: to read some of those takes for ever, and to read others changes something.
        if not found.is_file() or not found.is_relative_to(folder) or not 0 < size <= FILE_BYTES_MAX:
            return None
        with found.open("rb") as file:
            text = file.read(size)
    except (OSError, ValueError, RuntimeError):
        return None
    # Compilers count lines by line feeds alone.
    return None if b"\0" in text else text.decode("utf-8", "replace").split("\n")
