"""Imports a capture where nothing is but perfcase: no recorded program, no library under its own path, no debug files,
no kallsyms, no perf maps."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
SCRIPT = """
root=$1; shift
mount -t tmpfs none "$root" || exit 77
for path in $BOUND; do
    mkdir -p "$root$(dirname "$path")" || exit 77
    if [ -d "$path" ]; then mkdir -p "$root$path"; else : >"$root$path"; fi
    mount --bind "$path" "$root$path" || exit 77
done
mkdir -p "$root/tmp" "$root/dev"
: >"$root/dev/null"
exec chroot "$root" "$@"
"""
PROGRAM = """
import sys, pathlib
from perfcase.case import store
assert not any(pathlib.Path(path).exists() for path in ("/proc/kallsyms", "/usr/lib", "/lib", "/tmp/perfcase-symbols"))
store.open_case(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
"""


def libraries(folder: Path) -> str:
    """Copies the dynamic linker and the libraries of Python and its modules into the folder; the linker's name."""
    loader = ""
    modules = [Path(sys.executable).resolve()]
    for place in {
        Path(sys.prefix),
        Path(sys.base_prefix) / "lib" / f"python3.{sys.version_info.minor}",
        REPOSITORY / "analyzer",
    }:
        modules += place.rglob("*.so")
    for module in modules:
        done = subprocess.run(["ldd", module], capture_output=True, text=True)
        for path in re.findall(r"(/\S+) \(0x", done.stdout):
            target = folder / Path(path).name
            if not target.exists():
                shutil.copy(path, target)
            if Path(path).name.startswith("ld-"):
                loader = Path(path).name
    return loader


def import_in_clean_root(capture: Path, case: Path, folder: Path) -> None:
    """`perfcase import` of the capture into ``case``, which lies in the capture's folder."""
    if shutil.which("unshare") is None or shutil.which("ldd") is None:
        pytest.skip("unshare or ldd is not installed: no root of our own")
    hidden, root = folder / "hidden", folder / "root"
    hidden.mkdir()
    root.mkdir()
    loader = libraries(hidden)
    python = Path(sys.executable)
    standard = Path(sys.base_prefix) / "lib" / f"python3.{sys.version_info.minor}"
    real = python.resolve()
    bound = [
        REPOSITORY / "analyzer" / "python",
        REPOSITORY / "schema",
        REPOSITORY / "recorder",
        Path(sys.prefix),
        standard,
        real,
        hidden,
        capture.parent,
    ]
    words = [hidden / loader, "--library-path", hidden, "--argv0", python, real]
    command = ["-c", PROGRAM, capture, case]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", SCRIPT, "sh", root, *words, *command],
        env={"BOUND": " ".join(map(str, bound)), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode == 77:
        pytest.skip(f"no mount namespace for a root of our own: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
