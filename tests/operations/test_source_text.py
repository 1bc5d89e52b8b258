"""Source lines come from the folders that the user names, whatever path a capture has."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from perfcase.errors import PerfcaseError
from perfcase.stacks import source_text
from perfcase.stacks.source_text import LINE_MAX, SourceText


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "src"
    (made / "lib").mkdir(parents=True)
    (made / "main.c").write_text("one\n  two \x0c\r\nthree")
    (made / "lib" / "main.c").write_text("of lib\n")
    (tmp_path / "secret.c").write_text("secret\n")
    return made


@pytest.mark.parametrize(
    ("path", "line", "text"),
    [
        ("/build/app/main.c", 1, "one"),
        ("main.c", 2, "  two"),
        ("./main.c", 3, "three"),
        # The longest part of the path that is there.
        ("/build/lib/main.c", 1, "of lib"),
        ("/build/main.c", 4, None),
        ("/build/main.c", 0, None),
        ("/build/main.c", -1, None),
        ("/build/other.c", 1, None),
        ("/build/lib", 1, None),
        ("", 1, None),
        ("/", 1, None),
        ("\0", 1, None),
        ("x" * 10_000, 1, None),
        ("a/" * 10_000 + "main.c", 1, None),
    ],
)
def test_a_line(folder: Path, path: str, line: int, text: str | None) -> None:
    found = SourceText([folder])
    assert found.line(path, line) == text
    assert (path in found.missing) == (text is None and line == 1)


def test_nothing_outside_is_read(folder: Path, tmp_path: Path) -> None:
    (folder / "link.c").symlink_to(tmp_path / "secret.c")
    (folder / "up").symlink_to(tmp_path)
    (folder / "loop.c").symlink_to("loop.c")
    (folder / "inside.c").symlink_to("main.c")
    os.mkfifo(folder / "pipe.c")
    found = SourceText([folder])
    for path in (
        "../secret.c",
        "lib/../../secret.c",
        str(tmp_path / "secret.c"),
        "link.c",
        "up/secret.c",
        "loop.c",
        "pipe.c",
    ):
        assert found.line(path, 1) is None, path
    assert found.line("inside.c", 1) == "one"


def test_what_never_ends(folder: Path) -> None:
    """A file of the kernel that waits for more: a folder of source files may be /."""
    found = SourceText([Path("/")])
    for path in ("/proc/kmsg", "/proc/self/mem", "/dev/zero", "/sys/kernel/tracing/trace_pipe"):
        assert found.line(path, 1) is None, path
    assert found.line(str(folder / "main.c"), 1) == "one"


def test_what_is_large_or_no_text(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "long.c").write_text("x" * 10_000)
    (folder / "program").write_bytes(b"\x7fELF\0\0")
    (folder / "latin.c").write_bytes(b"caf\xe9\n")
    found = SourceText([folder])
    assert found.line("long.c", 1) == "x" * LINE_MAX
    assert found.line("program", 1) is None
    assert found.line("latin.c", 1) == "caf\ufffd"
    monkeypatch.setattr(source_text, "FILE_BYTES_MAX", 100)
    assert SourceText([folder]).line("long.c", 1) is None


def test_several_folders(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "more.c").write_text("more")
    found = SourceText([folder, other])
    assert [found.line("more.c", 1), found.line("main.c", 1)] == ["more", "one"]
    with pytest.raises(PerfcaseError, match="no such folder"):
        SourceText([tmp_path / "none"])
