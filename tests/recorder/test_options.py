"""The command line: help, wrong usage, exit statuses, limits."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from perfcase import __version__
from tests.recorder.support import (
    RECORDER,
    SHELLS,
    Capture,
    command,
    control_group,
    environment,
    parse_snapshots,
    path_without,
    run,
)

pytestmark = pytest.mark.parametrize("shell", SHELLS)


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (["--duration", "soon"], 2, "--duration soon: a positive number of seconds"),
        (["--duration", "0"], 2, "--duration 0: a positive number"),
        (["--interval", "0.001"], 2, "--interval 0.001: a number of seconds, at least 0.01"),
        (["--symbols", "all"], 2, "--symbols all: there are none, table, full and mapped"),
        (["--call-graph", "fast"], 2, "--call-graph fast: there are fp, dwarf, dwarf,BYTES and lbr"),
        (["--call-graph=dwarf,70000"], 2, "--call-graph dwarf,70000: 8 to 65528 bytes of each stack"),
        (["--budget", "5X"], 2, "--budget 5X: a size, such as 200M"),
        (["--with", "page-cache,sched"], 2, "--with sched: there are locks, page-cache, page-faults and tcp"),
        (["--with", "sched:sched_switch"], 2, "--with sched:sched_switch: there are"),
        (["--label", "two words"], 2, "--label 'two words': one word without commas"),
        (["--label=a,b"], 2, "--label 'a,b': one word without commas"),
        (["--duration"], 2, "--duration needs a value"),
        (["--frequency", "99"], 2, "unknown option --frequency"),
        (["ls"], 2, "unexpected 'ls'"),
        (["--pid", "1", "--cgroup", "x"], 2, "not with --pid"),
        (["--pid", "1", "--", "true"], 2, "exclude each other"),
        (["--pid", "4194305"], 3, "--pid 4194305: there is no such process"),
        (["--pid", "self"], 2, "--pid self: a number"),
        (["--cgroup", "no/such/group"], 3, "--cgroup no/such/group: there is no such control group"),
        (["--", "no-such-command"], 3, "no-such-command: command not found"),
        (["-o", "/no/such/folder/x", "--", "true"], 1, "cannot create /no/such/folder/x.recording"),
        (["-o", "/tmp"], 2, "-o /tmp is a folder"),
        (["--with", "*"], 2, "--with *: there are locks"),
        (["--pid", "*"], 2, "--pid *: a number"),
        (["--pid", "1,,2"], 2, "--pid 1,,2: a number, or several with commas"),
    ],
)
def test_what_cannot_be_done_is_said_at_once(
    shell: str, options: list[str], status: int, words: str, tmp_path: Path
) -> None:
    out = [] if "-o" in options else ["-o", tmp_path / "x.perfcase"]
    done = run(shell, *out, *options)
    assert done.returncode == status, done.stderr
    assert words in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_help_teaches(shell: str) -> None:
    done = run(shell, "--help")
    assert done.returncode == 0
    for word in [
        "--duration",
        "--force",
        "--pid",
        "--cgroup",
        "--interval",
        "--with",
        "--symbols",
        "--call-graph",
        "--budget",
        "--ticket",
        "--note",
        "--label",
        "--salvage",
        "--check",
        "Exit status",
    ]:
        assert word in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 120


def test_version(shell: str) -> None:
    assert run(shell, "--version").stdout == f"perfcase-record {__version__} (archive format 1.1)\n"


def test_check_prints_each_source_and_changes_nothing(shell: str, tmp_path: Path) -> None:
    done = run(shell, "--check")
    assert done.returncode == 0, done.stderr
    rows = {line.split()[0]: line.split(None, 2)[1:] for line in done.stdout.splitlines() if line[0] != " "}
    assert list(rows) == [
        "SOURCE",
        "perf",
        "ftrace",
        "stacks",
        "pmc",
        "proc",
        "process",
        "host",
        "symbols",
        "trace-cmd",
        "compression",
    ]
    for name, (status, *why) in list(rows.items())[1:]:
        assert status in ("available", "degraded", "missing"), name
        assert status == "available" or why, f"{name}: {status}, but why?"


def test_check_names_the_command_that_enables_what_is_missing(shell: str, tmp_path: Path) -> None:
    path = path_without("perf", "trace-cmd", "zstd")
    done = run(shell, "--check", PATH=path, PERFCASE_COMPRESSION="")
    lines = done.stdout.splitlines()
    tracing = next(index for index, line in enumerate(lines) if line.startswith("trace-cmd "))
    assert lines[tracing].split()[1] == "degraded"
    assert "install" in lines[tracing + 1]
    # as far as the kernel lets it: not in a container that is shut off from perf events
    for name, does in (("perf", "opens the events"), ("pmc", "counts")):
        line = next(line for line in lines if line.startswith(f"{name} "))
        assert f"perf is not installed: perfcase-helper {does}" in line or line.split()[1] == "missing"
    assert any(line.startswith("compression") and "gzip" in line for line in lines)


def test_without_any_tool_the_capture_says_so(shell: str, tmp_path: Path) -> None:
    path = path_without("perf", "trace-cmd", "zstd", "gzip", "sha256sum")
    out = tmp_path / "x.perfcase"
    done = run(shell, "-o", out, "--", "sleep", "0.2", PATH=path, PERFCASE_COMPRESSION="")
    assert done.returncode == 0, done.stderr
    capture = Capture.read(out)
    capture.check()
    # Some builds of busybox have a gzip of their own, whatever PATH says.
    asked = subprocess.run(
        [*SHELLS[shell], "-c", "command -v gzip"], env={"PATH": path}, capture_output=True, check=False
    )
    expected = {"none"} if asked.returncode else {"none", "gzip"}
    assert {member["compression"] for member in capture.manifest["members"]} == expected
    for name in ("perf", "pmc"):
        assert capture.source(name)["tool"] == "perfcase-helper"
        assert capture.source(name)["reason"].startswith("perf is not installed")
    assert len(parse_snapshots(capture.content("proc/snapshots"))) >= 2


def test_a_budget_ends_the_recording(shell: str, tmp_path: Path) -> None:
    out = tmp_path / "x.perfcase"
    done = run(
        shell, "--budget", "300K", "--interval", "0.02", "-o", out, "--", "sh", "-c", "while :; do sleep 0.01; done"
    )
    assert done.returncode == 0, done.stderr
    assert "the budget of 300K was reached" in done.stderr
    manifest = Capture.read(out).manifest
    assert (manifest["recorder"]["stopped_by"], manifest["recorder"]["budget_bytes"]) == ("budget", 300 * 1024)
    # the command outlived the recording: SIGTERM
    assert manifest["recorder"]["target"]["exit_status"] == 143


def test_a_duration_ends_the_recording(shell: str, tmp_path: Path) -> None:
    out = tmp_path / "x.perfcase"
    begin = time.monotonic()
    assert run(shell, "-q", "--duration", "0.5", "-o", out, "--", "sleep", "100").returncode == 0
    assert 0.5 < time.monotonic() - begin < 30
    recorder = Capture.read(out).manifest["recorder"]
    assert (recorder["stopped_by"], recorder["duration_ns"]) == ("duration", 500_000_000)


def test_a_running_process_and_its_children(shell: str, tmp_path: Path) -> None:
    out = tmp_path / "x.perfcase"
    target = subprocess.Popen(["sh", "-c", "sh -c 'while :; do sleep 0.02; done'; true"], start_new_session=True)
    time.sleep(0.2)
    try:
        done = run(shell, "-o", out, "--duration", "0.6", "--interval", "0.1", "--pid", str(target.pid))
    finally:
        os.killpg(target.pid, signal.SIGKILL)
        target.wait()
    assert done.returncode == 0, done.stderr
    capture = Capture.read(out)
    capture.check()
    pids = capture.manifest["recorder"]["target"]["pids"]
    assert target.pid in pids
    assert len(pids) >= 2, "a child that was there before"
    # its children of 20 ms are gone when perf starts, which must not end perf
    started = [name for name in ("perf", "pmc") if capture.source(name)["status"] != "missing"]
    works = shutil.which("perf") and subprocess.run(["perf", "stat", "-p", str(os.getpid()), "true"], check=False)
    assert started == (["perf", "pmc"] if works and works.returncode == 0 else []), capture.manifest["sources"]
    seen = {
        int(path.split("/")[2])
        for s in parse_snapshots(capture.content("proc/snapshots"))
        for path in s.files
        if "/task/" in path
    }
    assert target.pid in seen
    assert os.getpid() not in seen


def test_two_recordings_do_not_write_one_file(shell: str, tmp_path: Path) -> None:
    out = tmp_path / "x.perfcase"
    (tmp_path / "x.perfcase.recording").mkdir()
    done = run(shell, "-o", out, "--", "true")
    assert done.returncode == 1
    assert "another recording writes" in done.stderr
    assert (tmp_path / "x.perfcase.recording").exists()


def test_an_installed_recorder_finds_its_parts(shell: str, tmp_path: Path) -> None:
    subprocess.run(
        ["make", "-s", "-C", RECORDER.parent, "install", f"DESTDIR={tmp_path}", "PREFIX=/usr"], check=True, timeout=120
    )
    installed = tmp_path / "usr" / "sbin" / "perfcase-record"
    done = subprocess.run(
        [*SHELLS[shell], installed, "-o", tmp_path / "x.perfcase", "--", "true"], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    Capture.read(tmp_path / "x.perfcase").check()


def test_the_command_keeps_its_standard_streams(shell: str, tmp_path: Path) -> None:
    done = subprocess.run(
        command(shell, "-q", "-o", tmp_path / "x.perfcase", "--", "sh", "-c", "cat; echo oops >&2"),
        env=environment(), input="hello\n", capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello\n", "oops\n")


def test_a_control_group(shell: str, tmp_path: Path) -> None:
    target = subprocess.Popen(["sh", "-c", "while :; do sleep 0.02; done"])
    out = tmp_path / "x.perfcase"
    with control_group(f"perfcase-{os.getpid()}", target) as group:
        done = run(shell, "-o", out, "--duration", "0.6", "--interval", "0.1", "--cgroup", group.name)
    assert done.returncode == 0, done.stderr
    capture = Capture.read(out)
    capture.check()
    assert capture.manifest["recorder"]["target"]["cgroup"] == str(group)
    snapshots = parse_snapshots(capture.content("proc/snapshots"))
    seen = {int(path.split("/")[2]) for snapshot in snapshots for path in snapshot.files if "/task/" in path}
    assert target.pid in seen
    assert os.getpid() not in seen
    for name in ("perf", "pmc", "ftrace"):
        if capture.source(name)["status"] != "missing":
            words = " ".join(capture.source(name)["command"])
            # never the whole host: by group, by process, or by the threads given to the drain
            assert "-G " in words or f"-p {target.pid}" in words or "-P " in words or "ftrace.tids" in words
