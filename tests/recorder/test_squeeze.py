"""Raw data are compressed while they are recorded: not a byte is another, also when everything is killed at any moment."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import struct
import subprocess
import tarfile
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.recorder.support import SHELLS, TRACEFS, command, environment, helper, in_own_mounts, run
from tests.support.scale import scaled

MB = 1 << 20
HEAD = 5000
"""Bytes before the records of the perf.data of these tests."""
needs_tracefs = pytest.mark.skipif(os.geteuid() != 0 or TRACEFS is None, reason="needs root and tracefs")


def unpacked(file: Path) -> bytes:
    return subprocess.run(["zstd", "-dc", file], capture_output=True, check=True).stdout


def header(data_size: int) -> bytes:
    return struct.pack("<8sQQQQQQ", b"PERFILE2", 104, 144, 104, 144, HEAD, data_size).ljust(HEAD, b"h")


def folder_of(place: Path) -> Path:
    for name in ("perf", "ftrace/raw", ".state"):
        (place / name).mkdir(parents=True)
    return place


def squeezing(folder: Path) -> subprocess.Popen:
    return subprocess.Popen([helper(), "squeeze", folder, "watch", "perf"], stderr=subprocess.PIPE, text=True)


def blocks_bytes(folder: Path) -> int:
    """What lies on the disk; a file that gets another name meanwhile is not counted."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            total += path.stat().st_blocks * 512
    return total


def chunk(random_bytes: random.Random) -> bytes:
    """Half a MB that becomes a quarter of it, and is nowhere the same."""
    return b"".join(random_bytes.randbytes(16) + bytes(48) for _ in range(8192))


def test_what_a_killed_one_left_running_writes_nothing_among_the_frames(tmp_path: Path) -> None:
    """Its zstd has read a part, and writes the end of that frame when somebody else has gone on with the file."""
    folder = folder_of(tmp_path / "x")
    data = b"".join(chunk(random.Random(4)) for _ in range(16))
    (folder / "ftrace/raw/cpu0").write_bytes(data)
    began, tools = tmp_path / "began", tmp_path / "bin"
    tools.mkdir()
    slow = f"#!/bin/sh\npart=$(mktemp)\nhead -c 500000 | {shutil.which('zstd')} -q -c >$part\n: >{began}\nsleep 0.5\nexec cat $part\n"
    (tools / "zstd").write_text(slow)
    (tools / "zstd").chmod(0o755)
    changed = environment(PATH=f"{tools}:{os.environ['PATH']}", TMPDIR=str(tmp_path))
    with subprocess.Popen([helper(), "squeeze", folder, "watch"], env=changed) as process:
        end = time.monotonic() + 20
        while not began.exists():
            assert time.monotonic() < end
            time.sleep(0.01)
        process.kill()
    subprocess.run([helper(), "squeeze", folder, "finish"], check=True)
    time.sleep(0.7)
    assert unpacked(folder / "ftrace/raw/cpu0.zst") == data


@pytest.mark.parametrize("killed", [False, True], ids=["whole", "killed"])
def test_every_byte_is_there(killed: bool, tmp_path: Path) -> None:
    """Three writers go on while it works, it may be killed meanwhile, and perf writes its header once more at the end."""
    chance = random.Random(4)
    for turn in range(scaled(20, 3) if killed else 1):
        folder = folder_of(tmp_path / f"{turn}")
        expected = {"perf/perf.data": header(0), "ftrace/raw/cpu0": b"", "ftrace/raw/cpu13": b""}
        files = {name: (folder / name).open("wb", buffering=0) for name in expected}
        files["perf/perf.data"].write(header(0))
        (folder / "ftrace/raw/cpu1").write_bytes(b"small")
        process = squeezing(folder)
        most = 0
        for _ in range(40):
            for name, file in files.items():
                data = chunk(chance)
                file.write(data)
                expected[name] += data
            time.sleep(0.02)
            most = max(most, blocks_bytes(folder))
            if killed and process.poll() is None and chance.random() < 0.1:
                process.kill()
                process.wait()
                # what it left is whole frames, and an unfinished one
                process = squeezing(folder)
        last = header(len(expected["perf/perf.data"]) - HEAD)
        os.pwrite(files["perf/perf.data"].fileno(), last, 0)
        files["perf/perf.data"].write(b"features")
        expected["perf/perf.data"] = last + expected["perf/perf.data"][HEAD:] + b"features"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        subprocess.run([helper(), "squeeze", folder, "finish"], check=True)
        subprocess.run([helper(), "squeeze", folder, "finish"], check=True)
        left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        assert left == [
            ".state/squeezed",
            "ftrace/raw/cpu0.zst",
            "ftrace/raw/cpu1",
            "ftrace/raw/cpu13.zst",
            "perf/perf.data.zst",
        ]
        for name, data in expected.items():
            assert unpacked(folder / f"{name}.zst") == data, name
        sizes = subprocess.run([helper(), "sizes", folder], capture_output=True, text=True, check=True).stdout
        told = {line.split()[1]: int(line.split()[0]) for line in sizes.splitlines()}
        assert told == {"ftrace/raw/cpu1": 5, **{name: len(data) for name, data in expected.items()}}
        if not killed:
            raw = sum(map(len, expected.values()))
            assert most < raw * 0.75, "a quarter is what compressed data take here"
        shutil.rmtree(folder)


@pytest.mark.parametrize("step", ["indexed", "begun", "renamed", "half a frame"])
def test_killed_while_it_takes_a_file_on(step: str, tmp_path: Path) -> None:
    """Each moment at which it may be killed: who comes next takes the file on, or ends it."""
    data = random.Random(1).randbytes(6 << 20)
    for how in ("watch", "finish"):
        folder = folder_of(tmp_path / how)
        raw, stored = folder / "ftrace/raw/cpu13", folder / "ftrace/raw/cpu13.zst"
        raw.write_bytes(data)
        (folder / ".state/squeezed").write_text("0 0 0 ftrace/raw/cpu13\n")
        if step != "indexed":
            stored.touch()
        if step in ("renamed", "half a frame"):
            raw.rename(raw.with_name(".cpu13"))
        if step == "half a frame":
            stored.write_bytes(bytes.fromhex("28b52ffd0458") + b"x" * 1000)
        if how == "watch":
            process = squeezing(folder)
            end = time.monotonic() + 20
            while not stored.is_file() or stored.stat().st_size < len(data) - 4096:
                assert time.monotonic() < end
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
        subprocess.run([helper(), "squeeze", folder, "finish"], check=True)
        if (step, how) == ("indexed", "finish"):
            assert (raw.read_bytes(), stored.exists()) == (data, False), "nothing of it was compressed yet"
        else:
            assert (unpacked(stored), [file.name for file in raw.parent.iterdir()]) == (data, ["cpu13.zst"])


def test_a_disk_without_holes_keeps_the_raw_data(tmp_path: Path) -> None:
    script = """mount -t ramfs ramfs "$1" || exit 99; cd "$1" && mkdir -p .state perf ftrace/raw &&
        head -c 20000000 /dev/urandom >ftrace/raw/cpu0 && sha256sum ftrace/raw/cpu0 >sum
        timeout -s INT 1 "$2" squeeze . watch perf; "$2" squeeze . finish && sha256sum -c sum && ls ftrace/raw"""
    done = in_own_mounts(script, tmp_path, helper(), timeout=30)
    assert done.stdout == "ftrace/raw/cpu0: OK\ncpu0\n"
    assert "ftrace/raw/cpu0: the rest is not compressed while it is recorded: Operation not supported" in done.stderr


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """What did not fit is said, and is there when there is room again."""
    script = """mount -t tmpfs -o size=24m tmpfs "$1" || exit 99; cd "$1" && mkdir -p .state ftrace/raw &&
        head -c 23000000 /dev/urandom >ftrace/raw/cpu0 && sha256sum <ftrace/raw/cpu0 >sum
        timeout -s INT 1 "$2" squeeze . watch; "$2" squeeze . finish; echo $?
        mount -o remount,size=99m "$1"; "$2" squeeze . finish; echo $?
        if [ -e ftrace/raw/cpu0 ]; then cat ftrace/raw/cpu0; else zstd -dc ftrace/raw/cpu0.zst; fi | sha256sum -c sum"""
    done = in_own_mounts(script, tmp_path, helper(), timeout=30)
    assert done.stdout.splitlines()[1:] == ["0", "-: OK"], done.stderr
    assert "zstd failed" in done.stderr


# Four seconds of what a switch after the other gives, several MB a second.
BUSY = ["timeout", "6", "perf", "bench", "sched", "pipe", "-l", "100000000"]


@needs_tracefs
@pytest.mark.parametrize("shell", SHELLS)
def test_a_recording_is_compressed_while_it_goes_on(shell: str, tmp_path: Path) -> None:
    out = tmp_path / "x.perfcase"
    words = ["-q", "--duration", "4", "--budget", "1G", "-o", out, "--", *BUSY]
    done = run(shell, *words, PERFCASE_COMPRESSION="zstd", PERFCASE_NO_TRACE_CMD="1")
    assert (done.returncode, done.stderr) == (0, "")
    with tarfile.open(out, "r:") as archive:
        archive.extractall(tmp_path / "tree", filter="data")
    manifest = json.loads((tmp_path / "tree" / "manifest.json").read_text())
    assert "perfcase-helper squeeze" in [entry["process"] for entry in manifest["overhead"]]
    log = (tmp_path / "tree" / "recorder" / "log").read_text()
    assert "squeeze: " in log
    large = [member for member in manifest["members"] if member["path"].startswith("ftrace/raw/cpu")]
    assert sum(member["size_bytes"] for member in large) > 8 * MB, "else this tests nothing"
    for member in [*large, next(member for member in manifest["members"] if member["path"] == "perf/perf.data.zst")]:
        assert len(unpacked(tmp_path / "tree" / member["path"])) == member["size_bytes"], member["path"]
    (tmp_path / "perf.data").write_bytes(unpacked(tmp_path / "tree" / "perf" / "perf.data.zst"))
    counted = subprocess.run([helper(), "count", tmp_path / "perf.data"], capture_output=True, text=True, check=True)
    perf = next(source for source in manifest["sources"] if source["name"] == "perf")
    assert counted.stdout.startswith(f"samples={perf['event_count']}\n")
    script = subprocess.run(
        ["perf", "script", "-i", tmp_path / "perf.data", "-F", "event"], capture_output=True, check=True
    )
    assert script.stdout.count(b":") >= perf["event_count"] > 0


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("changes", "is_squeezed"),
    [
        ({"PERFCASE_COMPRESSION": "zstd"}, True),
        ({"PERFCASE_COMPRESSION": "zstd", "ZSTD_CLEVEL": "19"}, False),
        ({"PERFCASE_COMPRESSION": "gzip"}, False),
    ],
)
def test_where_it_is_done(shell: str, changes: dict[str, str], is_squeezed: bool, tmp_path: Path) -> None:
    """A level that takes long could not keep up; gzip is not begun at all."""
    done = run(shell, "-q", "-o", tmp_path / "x", "--symbols", "none", "--", "true", **changes)
    assert (done.returncode, done.stderr) == (0, "")
    with tarfile.open(tmp_path / "x", "r:") as archive:
        names = archive.getnames()
        log = archive.extractfile("recorder/log")
        assert log
        assert ("squeeze: " in log.read().decode(), "recorder/squeeze.log" in names) == (is_squeezed, False)


@needs_tracefs
@pytest.mark.parametrize("shell", SHELLS)
def test_a_killed_recording_is_salvaged(shell: str, tmp_path: Path) -> None:
    """As it lies there, every compressed file is read; and the salvaged one has the rest too."""
    recorder = subprocess.Popen(
        command(shell, "-q", "-o", tmp_path / "x.perfcase", "--symbols", "none", "--", *BUSY),
        env=environment(PERFCASE_COMPRESSION="zstd", PERFCASE_NO_TRACE_CMD="1"),
    )
    folder = tmp_path / "x.perfcase.recording"
    end = time.monotonic() + 30
    while not list(folder.glob("ftrace/raw/*.zst")):
        assert time.monotonic() < end
        time.sleep(0.02)
    time.sleep(0.5)
    recorder.kill()
    recorder.wait()
    end = time.monotonic() + 20
    while (
        done := run(shell, "-q", "--salvage", folder, PERFCASE_COMPRESSION="zstd")
    ).returncode and "at work" in done.stderr:
        assert time.monotonic() < end
        time.sleep(0.2)
    assert done.returncode == 0, done.stderr
    with tarfile.open(tmp_path / "x.perfcase", "r:") as archive:
        archive.extractall(tmp_path / "tree", filter="data")
    members = {
        member["path"]: member for member in json.loads((tmp_path / "tree" / "manifest.json").read_text())["members"]
    }
    cpus = [path for path in members if path.startswith("ftrace/raw/cpu")]
    assert cpus
    for path in (*cpus, "perf/perf.data.zst"):
        assert len(unpacked(tmp_path / "tree" / path)) == members[path]["size_bytes"], path
