"""Plays faults and healthy workloads, and records them: here in namespaces of their own, or whole in a guest.

``python3 playing.py CAPTURES`` is what the guest runs (see guest.py): it plays what the file CAPTURES/names lists. The scene is then below
the guest's own root folder, and the whole host is recorded. Only Python's standard library is there.
"""

from __future__ import annotations

import contextlib
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent
BUILD = PROJECT / "build" / "incidents"
ROOT = BUILD / "root"
RECORDER = PROJECT / "recorder" / "perfcase-record"
SECONDS = 8
START_S = 120

# Runs as root in its own namespaces: what is mounted and started there is gone with it.
ENTER = """
set -eu
root=$1; shift
mount --make-rprivate /
mkdir -p "$root/incidents" "$root/scene"
mount --bind "$2" "$root/incidents"
mount -t tmpfs tmpfs "$root/scene"; chmod 1777 "$root/scene"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
: > "$root/scene/resolv.conf"
mount --bind "$root/scene/resolv.conf" "$root/etc/resolv.conf"
ip link set lo up
exec chroot "$root" python3 /incidents/scene.py /scene "/incidents/$1" "$3"
"""


def paths(names: list[str]) -> list[Path]:
    """The files of faults/ and healthy/ with these names; all of them if none is named."""
    found = [path for kind in ("faults", "healthy") for path in sorted((HERE / kind).glob("*.py"))]
    if unknown := set(names) - {path.stem for path in found}:
        sys.exit(
            f"incidents: there is no {', '.join(sorted(unknown))}; there are {', '.join(path.stem for path in found)}"
        )
    return [path for path in found if not names or path.stem in names]


def kinds(path: Path) -> tuple[str, ...]:
    """How a file is played: a fault twice."""
    return ("healthy", "bad") if path.parent.name == "faults" else ("healthy",)


def load(path: Path) -> ModuleType:
    """Load a file of faults/ or healthy/; ``play`` itself runs in the scene."""
    module = ModuleType(path.stem)
    exec(compile(path.read_text(), path, "exec"), module.__dict__)  # ours
    return module


def record(path: Path, kind: str, output: Path, *, root: Path = ROOT, whole_host: bool = False) -> None:
    """Play a file in namespaces of its own, and record its processes, or the whole host."""
    output.parent.mkdir(parents=True, exist_ok=True)
    output.unlink(missing_ok=True)
    output.with_suffix(".felt.json").unlink(missing_ok=True)
    words = ["unshare", "--net", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "sh", "-c", ENTER]
    words += ["sh", root, path.relative_to(HERE), HERE, kind]
    with (
        open(output.with_suffix(".log"), "wb") as log,
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True) as scene,
    ):
        try:
            ready = select.select([scene.stdout], [], [], START_S)[0]
            if not ready or scene.stdout.readline() != "record\n":
                raise RuntimeError(f"it did not start: {output.with_suffix('.log').read_text()[-600:]}")
            (child,) = Path(f"/proc/{scene.pid}/task/{scene.pid}/children").read_text().split()
            seconds = getattr(load(path), "SECONDS", SECONDS)
            command = [RECORDER, "--duration", str(seconds), "-o", output, *([] if whole_host else ["--pid", child])]
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as recorder:
                said = []
                while "recording: " not in (line := recorder.stderr.readline()):
                    said.append(line)
                    if not line:
                        raise RuntimeError(f"no recording: {''.join(said)[-600:]}")
                scene.stdin.write("recording\n")
                scene.stdin.flush()
                recorder.communicate(timeout=seconds + 120)
            scene.stdin.write("done\n")
            scene.stdin.flush()
            output.with_suffix(".felt.json").write_text(scene.stdout.readline() or "{}")
        finally:
            # The end of its input ends the scene, also where this was interrupted: it removes its control groups and throttles.
            with contextlib.suppress(OSError):
                scene.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                scene.wait(timeout=10)
            scene.kill()


def main() -> None:
    """Play in a guest."""
    captures = Path(sys.argv[1])
    for path in paths((captures / "names").read_text().split()):
        for kind in kinds(path):
            began = time.monotonic()
            here = (
                Path("/tmp/captures") / path.stem / f"{kind}.perfcase"
            )  # in memory: the host sees it when it is whole
            trouble = ""
            try:
                record(path, kind, here, root=Path("/"), whole_host=True)
            except (RuntimeError, OSError, subprocess.SubprocessError) as error:
                trouble = str(error).strip()
            shutil.copytree(here.parent, captures / path.stem, dirs_exist_ok=True)
            shutil.rmtree(here.parent)
            print(f"{path.stem} {kind}: played in {time.monotonic() - began:.0f} s {trouble}", flush=True)


if __name__ == "__main__":
    main()
