"""The flight recorder: what is there when it is asked for the last seconds, and what a week of it leaves behind."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path

import pytest

from tests.recorder.support import (
    SHELLS,
    TRACEFS,
    Capture,
    command,
    environment,
    parse_snapshots,
    processes_that_mention,
    run,
)
from tests.support.scale import SCALE, scaled

KEPT_S = 3


def until(condition: Callable[[], object], what: str, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


@contextmanager
def target(folder: Path) -> Iterator[subprocess.Popen]:
    """Runs `longbefore` when the file `go` comes, and `lately` from when the file `late` comes."""
    for name in ("longbefore", "lately"):
        shutil.copy(shutil.which("sleep"), folder / name)
    script = "until [ -e go ]; do sleep 0.05; done; ./longbefore 1; until [ -e late ]; do sleep 0.05; done; "
    (folder / "program").write_text(f"{script}while :; do ./lately 0.2; done")
    with subprocess.Popen(["sh", "program"], cwd=folder) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def flight(shell: str, folder: Path, pid: int, *options: str) -> Iterator[subprocess.Popen]:
    """A flight of this process and its children, when it records."""
    said = folder / "said"
    words = command(shell, "--flight", f"{KEPT_S}s", "--pid", str(pid), "-o", folder / "x.perfcase", *options)
    with said.open("w") as file, subprocess.Popen(words, env=environment(), stdout=file, stderr=file) as recorder:
        try:
            until(lambda: "recording: " in said.read_text(), "it does not begin")
            yield recorder
        finally:
            if recorder.poll() is None:
                recorder.kill()
                recorder.wait()
    until(lambda: not processes_that_mention(str(folder)), "it leaves processes behind")


def captures(folder: Path) -> list[Path]:
    return sorted(folder.glob("x-*.perfcase"))


def ended_by(recorder: subprocess.Popen, number: signal.Signals) -> int:
    recorder.send_signal(number)
    return recorder.wait(timeout=60)


def reach_s(capture: Capture) -> dict[str, float]:
    end_ns = capture.manifest["clock"]["anchors"][-1]["monotonic_ns"]
    sources = [s for s in capture.manifest["sources"] if s["status"] != "missing"]
    return {
        s["name"]: (end_ns - s["started_monotonic_ns"]) / 1e9 for s in sources if s["name"] not in ("host", "symbols")
    }


def raw_trace(capture: Capture) -> bytes:
    return b"".join(capture.content(path) for path in capture.paths() if re.fullmatch(r"ftrace/raw/cpu\d+", path))


# More than ten seconds: what was long before has to be so, twice in the shells.
@pytest.mark.skipif(TRACEFS is None, reason="no tracefs")
@pytest.mark.parametrize("shell", SHELLS)
def test_a_dump_has_the_last_seconds_and_the_flight_goes_on(shell: str, tmp_path: Path) -> None:
    with (
        target(tmp_path) as process,
        flight(shell, tmp_path, process.pid, "--interval", "0.1", "--keep", "1") as recorder,
    ):
        (tmp_path / "go").touch()
        until(lambda: processes_that_mention("./longbefore"), "it does not run")
        until(lambda: not processes_that_mention("./longbefore"), "it runs on")
        (tmp_path / "late").touch()
        time.sleep(KEPT_S + 1.5)
        dumped = run(shell, "--dump", str(recorder.pid))
        assert (dumped.returncode, dumped.stderr) == (0, "")
        first = Path(dumped.stdout.removesuffix("\n"))
        assert captures(tmp_path) == [first]
        capture = Capture.read(first)

        said = tmp_path / "said"
        until(lambda: said.read_text().count("recording: ") == 2, "the next flight does not begin")
        time.sleep(1)
        recorder.send_signal(signal.SIGUSR1)
        until(lambda: "removed " in said.read_text(), "--keep 1 keeps two")
        (path,) = captures(tmp_path)
        assert path != first
        second = Capture.read(path)
        assert ended_by(recorder, signal.SIGTERM) == 0
    capture.check()
    told = capture.manifest["recorder"]
    assert (told["stopped_by"], told["trigger"], told["flight_ns"]) == ("trigger", "SIGUSR1", KEPT_S * 10**9)
    assert b"lately" in raw_trace(capture)
    assert b"longbefore" not in raw_trace(capture)
    files = [
        file for snapshot in parse_snapshots(capture.content("proc/snapshots")) for file in snapshot.files.values()
    ]
    assert any(b"(lately)" in file for file in files)
    assert not any(b"(longbefore)" in file for file in files)
    start_ns = capture.manifest["clock"]["anchors"][0]["monotonic_ns"]
    end_ns = capture.manifest["clock"]["anchors"][-1]["monotonic_ns"]
    assert KEPT_S <= (end_ns - start_ns) / 1e9 < KEPT_S * 7 / 6 + 1.5
    # Snapshots of processes pause for a multiple of the CPU time that they take. A part is forgotten when a snapshot comes, so there is
    # at most one pause more than is kept, and one since the last.
    lines = capture.content("process/snapshots").splitlines()
    times = [int(line.split()[1]) for line in lines if line.startswith(b"Z ")]
    pause_s = max(later - before for before, later in pairwise(times)) / 1e9
    for name, seconds in reach_s(capture).items():
        longer_s = max(3, 2 * pause_s + 1) if name == "process" else 3
        assert KEPT_S - 0.5 < seconds < KEPT_S + longer_s, name
    # The times of the counters' intervals count from where the first of them begins.
    first_line = next(line for line in capture.content("pmc/perf-stat.csv").decode().splitlines() if line[:1] != "#")
    assert 0 < float(first_line.split(",")[0]) < 1
    second.check()
    assert second.manifest["recorder"]["trigger"] == "SIGUSR1"


@pytest.mark.parametrize("shell", SHELLS)
def test_a_condition_ends_a_flight_and_is_named(shell: str, tmp_path: Path) -> None:
    with target(tmp_path) as process, flight(shell, tmp_path, process.pid, "--when", f"log:{tmp_path}/x:y") as recorder:
        time.sleep(1.2)
        assert captures(tmp_path) == []
        (tmp_path / "x").write_text("an y\n")
        until(lambda: captures(tmp_path), "nothing is written")
        until(lambda: "recording: " in (tmp_path / "said").read_text().partition("wrote ")[2], "it does not go on")
        # It rests: another line is not heard now.
        with (tmp_path / "x").open("a") as file:
            file.write("another y\n")
        time.sleep(1.5)
        assert len(captures(tmp_path)) == 1
        assert ended_by(recorder, signal.SIGINT) == 0
    told = [Capture.read(path).manifest["recorder"] for path in captures(tmp_path)]
    assert [(t["stopped_by"], t["trigger"], t["interrupted_by"]) for t in told] == [
        ("trigger", f"log:{tmp_path}/x:y", None),
        ("signal", None, "SIGINT"),
    ]


def sizes(folder: Path) -> tuple[int, int]:
    """Files of the recording, and their bytes, without its state."""
    found = [
        path
        for part in ("proc", "process", "pmc", "perf", "symbols", "ftrace")
        for path in folder.rglob(f"{part}/**/*")
    ]
    size = 0
    for path in found:
        try:
            size += path.stat().st_size
        except OSError:
            continue
    return len(found), size


def resident_kb(folder: Path) -> dict[str, int]:
    """Each process of the recorder and its resident memory."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (process / "cmdline").read_bytes():
                status = (process / "status").read_text()
                found[process.name] = int(re.search(r"VmRSS:\s*(\d+)", status)[1])
        except (OSError, TypeError):
            continue
    return found


# More than ten seconds: a hundred parts of a ring are needed to see one that grows.
def test_a_week_is_flat(tmp_path: Path) -> None:
    """Turns of the rings, as many as an hour has with the usual settings: files, their bytes and the memory stay."""
    options = ["--flight", "1s", "--interval", "0.01"]
    with target(tmp_path) as process, flight("dash", tmp_path, process.pid, *options):
        (tmp_path / "go").touch()
        (tmp_path / "late").touch()
        looks = []
        memory = []
        for _ in range(round(8 + 8 * SCALE)):
            time.sleep(1)
            looks.append(sizes(tmp_path))
            memory.append(resident_kb(tmp_path))
        early, late = looks[3:6], looks[6:]
        assert max(count for count, _ in late) <= max(count for count, _ in early) + 3
        assert max(size for _, size in late) <= max(size for _, size in early) * 1.3
        parts = list(tmp_path.rglob("snapshots.*"))
        assert 2 <= len([path for path in parts if path.parent.name == "proc"]) <= 9
        lasting = set(memory[4]) & set(memory[-1])
        assert len(lasting) >= 4
        assert {pid: memory[-1][pid] for pid in lasting if memory[-1][pid] > memory[4][pid] + 512} == {}


@pytest.mark.parametrize("shell", SHELLS)
def test_killed_outright_it_can_be_salvaged_with_its_reach(shell: str, tmp_path: Path) -> None:
    with target(tmp_path) as process, flight(shell, tmp_path, process.pid, "--interval", "0.1") as recorder:
        time.sleep(KEPT_S + 2.5)
        (child,) = Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read_text().split()
        os.kill(recorder.pid, signal.SIGKILL)
        os.kill(int(child), signal.SIGKILL)
        recorder.wait()
        until(lambda: len(processes_that_mention(str(tmp_path))) == 0, "its children stay")
    (folder,) = tmp_path.glob("*.recording")
    manifest = json.loads((folder / "manifest.json").read_text())
    done = run(shell, "--salvage", folder, "-o", tmp_path / "s.perfcase")
    assert done.returncode == 0, done.stderr
    capture = Capture.read(tmp_path / "s.perfcase")
    capture.check()
    assert capture.manifest["recorder"]["stopped_by"] == "unfinished"
    before = manifest["clock"]["anchors"][0]["monotonic_ns"]
    begin = capture.manifest["clock"]["anchors"][0]["monotonic_ns"]
    assert begin > before + 10**9
    for source in capture.manifest["sources"]:
        if source["name"] in ("proc", "process", "pmc", "ftrace", "perf") and source["status"] != "missing":
            assert begin - 3 * 10**9 < source["started_monotonic_ns"] < begin + 3 * 10**9, source["name"]
    # What it said of itself is stale, and is not taken for a flight.
    dumped = run(shell, "--dump", str(recorder.pid))
    assert dumped.returncode in (1, 2)
    assert not Path(f"/run/perfcase/flight-{recorder.pid}").exists()


def family(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(descendant for child in children for descendant in family(int(child)))]


def test_when_the_host_goes_down_the_snapshots_are_on_the_disk(tmp_path: Path) -> None:
    """Nobody puts the parts of the rings together then; what is in the kernel's memory is lost."""
    with target(tmp_path) as process, flight("dash", tmp_path, process.pid, "--interval", "0.1") as recorder:
        time.sleep(KEPT_S + 2)
        processes = family(recorder.pid)[::-1]  # no parent first: its stopped children would be told to go on
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in processes:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
        recorder.wait()
    (folder,) = tmp_path.glob("*.recording")
    assert len(list(folder.glob("proc/snapshots.*"))) >= 6
    done = run("dash", "--salvage", folder, "-o", tmp_path / "s.perfcase")
    assert done.returncode == 0, done.stderr
    capture = Capture.read(tmp_path / "s.perfcase")
    capture.check()
    assert [path for path in capture.paths() if path.startswith(("pmc/", "perf/"))] == []
    data = capture.content("proc/snapshots")
    first = data[: data.index(b"\n")].decode().split()
    assert capture.source("proc")["started_monotonic_ns"] == int(first[1])
    times = [int(line.split()[1]) for line in data.splitlines() if line.startswith(b"Z ")]
    assert times == sorted(times)
    assert KEPT_S - 0.5 < (times[-1] - int(first[1])) / 1e9 < KEPT_S + 2


def test_a_flight_of_which_only_the_first_process_is_killed_is_packed(tmp_path: Path) -> None:
    with target(tmp_path) as process, flight("dash", tmp_path, process.pid) as recorder:
        recorder.kill()
        recorder.wait()
        until(lambda: captures(tmp_path), "its last flight is lost")
    assert Capture.read(captures(tmp_path)[0]).manifest["recorder"]["interrupted_by"] == "SIGTERM"


def test_a_flight_ends_with_its_target(tmp_path: Path) -> None:
    """A process that crashes is worth its last minute."""
    with target(tmp_path) as process, flight("dash", tmp_path, process.pid) as recorder:
        process.kill()
        assert recorder.wait(timeout=60) == 0
    (path,) = captures(tmp_path)
    assert Capture.read(path).manifest["recorder"]["stopped_by"] == "target_exit"


WRONG = {
    "flight": (["--flight", "0"], "--flight 0: how many seconds are kept, such as 60s: 1 to 3600, and not less than --interval"),
    "no flight": (["--when", "load>8"], "--when, --rest and --flight-memory go with --flight"),
    "command": (["--flight", "9", "--", "true"], "--flight looks at what runs already: use --pid or --cgroup"),
    "duration": (["--flight", "9", "--duration", "9"], "--flight ends at a trigger, and keeps to --flight-memory: no --duration, "
                 "--budget, --salvage"),
    "rest": (["--flight", "9", "--rest", "soon"], "--rest soon: a number of seconds, such as 60s"),
    "keep": (["--flight", "9", "--keep", "0"], "--keep 0: how many captures stay, 1 or more"),
    "number": (["--flight", "9", "--when", "load>x"], "--when 'load>x': a number comes after >"),
    "for": (["--flight", "9", "--when", "load>8 for ever"], "--when 'load>8 for ever': a number of seconds comes after 'for'"),
    "log": (["--flight", "9", "--when", "log:/x"], "--when 'log:/x': log:FILE:TEXT, the text on one line"),
    "device": (["--flight", "9", "--when", "log:/dev/null:x"], "--when 'log:/dev/null:x': the file is not a regular one"),
    "name": (["--flight", "9", "--when", "http://example.com/>1s"], "--when 'http://example.com/>1s': the server is a numeric "
             "address or localhost: looking a name up could take any time"),
    "group": (["--flight", "9", "--when", "oom:no/such"], "--when 'oom:no/such': there is no such control group, or the memory "
              "controller is off in it"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_is_refused_in_a_line(name: str, tmp_path: Path) -> None:
    words, line = WRONG[name]
    done = run("dash", "-o", tmp_path / "x.perfcase", *words)
    assert (done.returncode, done.stderr) == (2, f"perfcase-record: {line}\nTry: perfcase-record --help\n")
    assert list(tmp_path.iterdir()) == []


def test_rings_are_not_larger_than_the_host_can_bear(tmp_path: Path) -> None:
    done = run("dash", "--flight", "9", "--flight-memory", "1000000G", "-o", tmp_path / "x.perfcase")
    assert done.returncode == 1
    assert "--flight-memory 1000000G: twice as much has to be free" in done.stderr
    done = run("dash", "--flight", "9", "--flight-memory", "1K", "-o", tmp_path / "x.perfcase")
    assert done.returncode == 2
    assert "at least" in done.stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_asked_at_any_moment_it_lives_and_writes_whole_captures(shell: str, tmp_path: Path) -> None:
    said = tmp_path / "said"
    keep = scaled(3, 1)
    with target(tmp_path) as process, flight(shell, tmp_path, process.pid, "--keep", str(keep)) as recorder:
        end = time.monotonic() + 60
        while said.read_text().count("removed ") < 1 and time.monotonic() < end:
            recorder.send_signal(signal.SIGUSR1)
            time.sleep(random.Random(said.stat().st_size).uniform(0.01, 0.3))
        assert recorder.poll() is None, said.read_text()
        assert ended_by(recorder, signal.SIGTERM) == 0
    # A flight and its packing take seconds; on a busy machine fewer than --keep are written in a minute.
    assert 1 <= len(captures(tmp_path)) <= keep + 1
    for path in captures(tmp_path):
        Capture.read(path).check()
    assert list(tmp_path.glob("*.recording")) == []
    assert not list(Path("/run/perfcase").glob(f"flight-{recorder.pid}*"))
