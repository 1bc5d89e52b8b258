"""Runs the recorder on commands of our own and reads what it wrote, with nothing of perfcase's reader."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jsonschema
import pytest

from tests.support.alone import BUILD, alone

ROOT = Path(__file__).parents[2]
RECORDER = ROOT / "recorder" / "perfcase-record"
SCHEMA = json.loads((ROOT / "schema" / "manifest.schema.json").read_text())
PARTS = ("elf_table", "elf_file", "events_side", "perf_file", "sha256", "tracing_data", "util")
SHELLS = {"dash": ["dash"], "busybox": ["busybox", "sh"]}


def _tracefs() -> Path | None:
    """Where the kernel's tracing is; mounted where nobody has done so since the machine started."""
    places = [Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing")]
    if not any((place / "instances").is_dir() for place in places) and os.geteuid() == 0 and places[0].is_dir():
        subprocess.run(["mount", "-t", "tracefs", "tracefs", places[0]], capture_output=True, check=False)
    return next((place for place in places if (place / "instances").is_dir()), None)


TRACEFS = _tracefs()


@cache
def helper() -> Path:
    """perfcase-helper, built when it is older than its sources."""
    with alone("recorder"):
        subprocess.run(["make", "-s", "-C", ROOT / "recorder"], check=True)
    return ROOT / "recorder" / "build" / "perfcase-helper"


@cache
def parts() -> Path:
    """A program that calls parts of perfcase-helper by themselves (parts.c)."""
    program = ROOT / "build" / "tests" / "recorder-parts"
    sources = [ROOT / "recorder" / "src" / f"{name}.c" for name in PARTS]
    with alone("recorder-parts"):
        options = ["-std=gnu11", "-D_FILE_OFFSET_BITS=64", "-Wall", "-Wextra", "-Werror", "-I", sources[0].parent]
        subprocess.run(["gcc", *options, "-o", program, Path(__file__).with_name("parts.c"), *sources], check=True)
    return program


def command(shell: str, *options: str | Path) -> list[str]:
    helper()
    return [*SHELLS[shell], str(RECORDER), *map(str, options)]


def environment(**changes: str) -> dict[str, str]:
    # gzip: Python's own library opens the members
    return {**os.environ, "PERFCASE_COMPRESSION": "gzip", **changes}


def run(shell: str, *options: str | Path, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(shell, *options), env=environment(**changes), capture_output=True, text=True, timeout=120, check=False
    )


def in_own_mounts(script: str, *words: str | Path, timeout: float, **changes: str) -> subprocess.CompletedProcess[str]:
    """Runs a shell script with these words in a mount namespace of its own; it exits with 99 where it may not mount.

    Skips the test where that is not permitted.
    """
    unshare = ["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", *words]
    done = subprocess.run(
        unshare, env=environment(**changes), capture_output=True, text=True, timeout=timeout, check=False
    )
    if "unshare" in done.stderr or done.returncode == 99:
        pytest.skip(f"no mount namespace here: {done.stderr.strip()}")
    return done


@contextmanager
def control_group(name: str, target: subprocess.Popen) -> Iterator[Path]:
    """A control group with one process, which is killed at the end. Skips the test where none can be made."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    # Version 2, else the hierarchy of version 1 that perf records by.
    roots = [words[1] for words in mounts if words[2] == "cgroup2"]
    roots += [words[1] for words in mounts if words[2] == "cgroup" and "perf_event" in words[3].split(",")]
    group = Path(roots[0] if roots else "/none", name)
    try:
        try:
            group.mkdir()
        except OSError as error:
            pytest.skip(f"no control group of our own here: {error}")
        (group / "cgroup.procs").write_text(str(target.pid))
        yield group
    finally:
        target.kill()
        target.wait()
        end = time.monotonic() + 5
        # A process leaves its group some time after it ended.
        while group.is_dir() and time.monotonic() < end:
            with suppress(OSError):
                group.rmdir()
            time.sleep(0.02)


@dataclass
class Capture:
    """A .perfcase, read by the rules of schema/README.md."""

    path: Path
    names: list[str]
    stored: dict[str, bytes]
    manifest: dict

    @classmethod
    def read(cls, path: Path) -> Capture:
        stored = {}
        with tarfile.open(path, "r:") as archive:
            names = archive.getnames()
            for member in archive.getmembers():
                assert member.isreg()
                stored[member.name] = archive.extractfile(member).read()
        assert names[0] == "manifest.json"
        return cls(path, names, stored, json.loads(stored["manifest.json"]))

    def content(self, path: str) -> bytes:
        if path in self.stored:
            return self.stored[path]
        return gzip.decompress(self.stored[f"{path}.gz"])

    def paths(self) -> list[str]:
        return [name.removesuffix(".gz").removesuffix(".zst") for name in self.names]

    def source(self, name: str) -> dict:
        return next(source for source in self.manifest["sources"] if source["name"] == name)

    def check(self) -> None:
        """What holds for every capture: the schema, the member list, sizes and checksums."""
        jsonschema.Draft202012Validator(SCHEMA).validate(self.manifest)
        listed = {member["path"]: member for member in self.manifest["members"]}
        assert sorted(listed) == sorted(set(self.names) - {"manifest.json"})
        sources = {source["name"] for source in self.manifest["sources"]} | {"recorder"}
        for path, member in listed.items():
            stored = self.stored[path]
            assert member["stored_bytes"] == len(stored), path
            assert member["sha256"] == hashlib.sha256(stored).hexdigest(), path
            assert member["source"] in sources
            if member["compression"] == "gzip":
                assert member["size_bytes"] == len(gzip.decompress(stored)), path
            elif member["compression"] == "none":
                assert member["size_bytes"] == len(stored), path
        for source in self.manifest["sources"]:
            if source["status"] == "missing":
                assert source["reason"], source["name"]
                assert not [m for m in listed.values() if m["source"] == source["name"]], source["name"]


@dataclass
class Snapshot:
    monotonic_ns: int
    realtime_ns: int
    seq: int
    files: dict[str, bytes]
    errors: dict[str, int]
    is_complete: bool


def parse_snapshots(data: bytes) -> list[Snapshot]:
    """The framing of proc/snapshots, as schema/README.md has it."""
    found: list[Snapshot] = []
    at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        kind, *fields = data[at:end].decode().split(" ", 3)
        at = end + 1
        if kind == "S":
            found.append(Snapshot(int(fields[0]), int(fields[1]), int(fields[2]), {}, {}, False))
        elif kind == "F":
            length = int(fields[1])
            assert data[at + length : at + length + 1] == b"\n"
            assert int(fields[0]) >= found[-1].monotonic_ns
            found[-1].files[fields[2]] = data[at : at + length]
            at += length + 1
        elif kind == "E":
            found[-1].errors[fields[2]] = int(fields[1])
        else:
            assert kind == "Z"
            assert int(fields[1]) == found[-1].seq
            assert int(fields[2].split()[0]) == len(found[-1].files)
            assert int(fields[2].split()[1]) == sum(map(len, found[-1].files.values()))
            found[-1].is_complete = True
    return found


def processes_that_mention(text: str) -> list[str]:
    """Command lines of running processes with this text, zombies and our own left out."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line and int(folder.name) != os.getpid():
            found.append(line)
    return found


def host_settings() -> dict[str, str]:
    """Everything the recorder could have changed: kernel settings and the top ftrace instance."""
    # the kernel counts or adapts these by itself
    changing = {"ns_last_pid", "perf_event_max_sample_rate", "random", "pty"}
    files = [path for path in Path("/proc/sys/kernel").iterdir() if path.name not in changing]
    if TRACEFS:
        names = ["tracing_on", "current_tracer", "trace_clock", "set_event", "set_event_pid", "buffer_size_kb"]
        files += [TRACEFS / name for name in names] + list((TRACEFS / "options").glob("*"))
    settings = {}
    for path in files:
        try:
            settings[str(path)] = path.read_text(errors="replace")
            if path.name == "buffer_size_kb" and (size := re.search(r"(\d+)\)?\n", settings[str(path)])):
                # a buffer that nobody has used yet says "7 (expanded: 1408)", and 1410 is 1408 in whole pages
                settings[str(path)] = f"{int(size[1]) // 64} * 64 KB"
        except OSError:
            settings[str(path)] = "unreadable"
    mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if "tracefs" in line]
    return {**settings, "mounts": "\n".join(mounts)}


@cache
def path_without(*absent: str) -> str:
    """A PATH with every command of this machine but those: one folder, which all tests share and nobody changes."""
    tools = {tool.name: tool for place in reversed(os.get_exec_path()) for tool in Path(place).glob("*")}
    links = {name: tool for name, tool in sorted(tools.items()) if name not in absent}
    folder = BUILD / "path" / hashlib.sha256(repr(links).encode()).hexdigest()[:16]
    with alone(f"path-{folder.name}"):
        if not folder.is_dir():
            working = folder.with_suffix(".new")
            shutil.rmtree(working, ignore_errors=True)
            working.mkdir(parents=True)
            for name, tool in links.items():
                (working / name).symlink_to(tool)
            working.rename(folder)
    assert not any(shutil.which(name, path=str(folder)) for name in absent)
    return str(folder)
