"""What the helper prints of the manifest and for it, against Python's own view of the same files."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from pathlib import Path

import pytest

from tests.recorder.support import SHELLS, Capture, helper, run

in_both_shells = pytest.mark.parametrize("shell", SHELLS)


def printed(*words: str | Path) -> str:
    return subprocess.run([helper(), *words], capture_output=True, text=True, check=True, timeout=60).stdout


def wrapped(folder: Path, before: str) -> str:
    """A helper that does something before it is itself: ``$1`` is its subcommand."""
    script = folder / "helper"
    script.write_text(f'#!/bin/sh\n{before}\nexec {helper()} "$@"\n')
    script.chmod(0o755)
    return str(script)


def test_the_host_has_its_names() -> None:
    host = json.loads(printed("host"))
    cpus = Path("/proc/cpuinfo").read_text()
    named = re.search(r"^model name\s*: *(.*)$", cpus, re.MULTILINE)
    part = re.search(r"^CPU part\s*: *(.*)$", cpus, re.MULTILINE)
    assert host["os"] == platform.freedesktop_os_release()["PRETTY_NAME"]
    assert host["cpu_model"] == (named[1] if named else part and f"CPU part {part[1]}")
    assert host["kernel_version"] == os.uname().version


def functions(lines: list[str]) -> list[str]:
    """Functions at addresses that are not hidden; without those in brackets, of BPF programs that other tests load meanwhile."""
    words = [(line, line.split(" ")) for line in lines if "[" not in line]
    return [line for line, (address, kind, *_) in words if kind in "tTwW" and int(address, 16)]


def test_kernel_functions_are_those_of_the_kernel() -> None:
    """Each of them, in the kernel's order, and nothing else."""
    told = printed("kallsyms").splitlines()
    assert [line for line in told if "[" not in line] == functions(Path("/proc/kallsyms").read_text().splitlines())
    assert len(told) > 1000 or os.geteuid() != 0


def test_sources_have_the_last_value_of_each_key(tmp_path: Path) -> None:
    odd = 'a "b" \\ perf reason x = ü'
    (tmp_path / "sources").write_text(
        "perf status missing\nperf kind perf_data\nperf reason first\nperf2 reason other\n"
        f"perf reason {odd}\nperf lost 7\nperf events none\nperf status degraded\npmc status missing\n"
    )
    (tmp_path / "perf.command").write_text('["perf","record"]\n')
    (source,) = json.loads(f"[{printed('sources', tmp_path, 'perf', 'pmc', 'perf2')}]")
    assert source == {
        "name": "perf", "kind": "perf_data", "status": "degraded", "reason": odd, "remedy": None, "tool": None,
        "tool_version": None, "command": ["perf", "record"], "clock": None, "started_monotonic_ns": None,
        "ended_monotonic_ns": None, "event_count": None, "lost_events": 7,
    }  # fmt: skip
    assert printed("sources", tmp_path / "absent", "perf") == ""


def test_sizes_of_folders_are_the_sums_of_their_files(tmp_path: Path) -> None:
    files = {"a/x": 3, "a/b/y": 40, "ab/z": 500, "top": 6000, "b/empty": 0}
    for name, size in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(bytes(size))
    told = {name: int(size) for size, name in map(str.split, printed("sizes", tmp_path, "folders").splitlines())}
    assert told == {"a": 43, "ab": 500, "b": 0}
    assert {name: int(size) for size, name in map(str.split, printed("sizes", tmp_path).splitlines())} == files


@in_both_shells
def test_a_capture_is_not_written_without_its_sources(shell: str, tmp_path: Path) -> None:
    """Where the helper that prints them is killed, the third time: that capture said nothing of any source, and was called whole."""
    count = 'if [ "$1" = sources ]; then echo >>"$0.asked"; [ "$(wc -l <"$0.asked")" -lt 3 ] || kill -KILL $$; fi'
    out = tmp_path / "x.perfcase"
    done = run(shell, "-q", "-o", out, "--", "true", PERFCASE_HELPER=wrapped(tmp_path, count))
    assert (done.returncode, out.exists()) == (1, False)
    assert f"what was recorded is in the folder {out}.recording" in done.stderr
    assert run(shell, "-q", "--salvage", f"{out}.recording").returncode == 0
    capture = Capture.read(out)
    capture.check()
    assert {source["name"] for source in capture.manifest["sources"]} >= {"host", "proc", "perf", "ftrace"}


@in_both_shells
def test_the_environment_changes_no_fact(shell: str, tmp_path: Path) -> None:
    names = ("host_json", "cpus", "uid", "log_offset", "source_perf_status", "json_stopped", "PROBES", "buffer_kb")
    out = tmp_path / "x.perfcase"
    done = run(shell, "-q", "-o", out, "--", "true", **dict.fromkeys(names, '{"no":1}'))
    assert (done.returncode, done.stderr) == (0, "")
    capture = Capture.read(out)
    capture.check()
    assert capture.manifest["host"]["hostname"] == os.uname().nodename


def test_a_helper_of_another_machine_is_not_obeyed(tmp_path: Path) -> None:
    """The kernel refuses it, and busybox then runs it as a script: its bytes have made files where the recorder stood."""
    header = bytearray(helper().read_bytes()[:64])
    header[18] = 0xB7 if header[18] == 0x3E else 0x3E
    stranger = tmp_path / "helper"
    stranger.write_bytes(header + b"\ntouch '" + os.fsencode(tmp_path) + b"/obeyed'\n")
    stranger.chmod(0o755)
    done = run("busybox", "--version", PERFCASE_HELPER=str(stranger))
    assert not (tmp_path / "obeyed").exists()
    assert done.returncode == 0, "the recorder's own helper comes next"
