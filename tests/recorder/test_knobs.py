"""What was changed on the host is in the manifest with what it is afterwards, also what the kernel changed by itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.recorder.support import SHELLS, Capture, command, in_own_mounts, path_without

pytestmark = pytest.mark.parametrize("shell", SHELLS)

# It makes a tracefs of plain files and a sample rate that belong to this recorder alone: the host's stay as they are.
HIDE = """
mount --bind "$1/tracefs" /sys/kernel/tracing && mount --bind "$1/rate" /proc/sys/kernel/perf_event_max_sample_rate || exit 99
shift
exec "$@"
"""
# Begins and ends as trace-cmd does, and leaves the top buffer's size at LEFT.
TRACE_CMD = """#!/bin/sh
[ "$1" = record ] && [ "$2" != -h ] || exit 0
while [ $# -gt 0 ]; do
	case $1 in
	-o) out=$2 ;;
	-B) on=/sys/kernel/tracing/instances/$2/tracing_on reader=$out.$2.cpu0 ;;
	esac
	shift
done
trap 'rm -f "$on"; echo data >"$out"; exit' INT TERM
[ -z "LEFT" ] || echo "LEFT" >/sys/kernel/tracing/buffer_size_kb
echo 1 >"$on"
: >"$reader"
while :; do sleep 0.02; done
"""
UNUSED = "7 (expanded: 1408)"


def recorded(shell: str, folder: Path, left: str, workload: str, **changes: str) -> dict[str, dict]:
    """The knobs in the manifest of a recording, by the names of their files."""
    tools = folder / "bin"
    tools.mkdir()
    (tools / "trace-cmd").write_text(TRACE_CMD.replace("LEFT", left))
    (tools / "trace-cmd").chmod(0o755)
    event = folder / "tracefs" / "events" / "sched" / "sched_switch"
    event.mkdir(parents=True)
    (event / "id").write_text("314\n")
    (folder / "tracefs" / "instances").mkdir()
    (folder / "tracefs" / "buffer_size_kb").write_text(f"{UNUSED}\n")
    (folder / "rate").write_text("100000\n")
    out = folder / "x.perfcase"
    words = [folder, *command(shell, "-q", "-o", out, "--", "sh", "-c", workload)]
    done = in_own_mounts(HIDE, *words, timeout=60, PATH=f"{tools}:{path_without('perf', 'trace-cmd')}", **changes)
    assert done.returncode == 0, done.stderr
    capture = Capture.read(out)
    if not changes:
        assert capture.source("ftrace")["kind"] == "trace_dat", capture.source("ftrace")
    return {Path(knob["path"]).name: knob for knob in capture.manifest["knobs"]}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a tracefs of its own")
@pytest.mark.parametrize(
    ("left", "after", "is_restored"),
    [
        ("", UNUSED, True),
        (UNUSED, UNUSED, True),
        # The buffer is there for good: it has its size again, and is not as it was.
        ("7", "1408", False),
        # Somebody else's wish.
        ("2048", "2048", False),
    ],
)
def test_a_buffer_is_restored_when_it_is_as_before(
    shell: str, left: str, after: str, is_restored: bool, tmp_path: Path
) -> None:
    knob = recorded(shell, tmp_path, left, "sleep 0.2")["buffer_size_kb"]
    assert (tmp_path / "tracefs" / "buffer_size_kb").read_text() == f"{after}\n"
    assert (knob["before"], knob["restored"]) == (UNUSED, is_restored)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a tracefs of its own")
def test_a_buffer_is_restored_whatever_drains_the_rings(shell: str, tmp_path: Path) -> None:
    """Older kernels (6.1) leave it so by themselves; the command stands for them."""
    left = "echo 7 >/sys/kernel/tracing/buffer_size_kb"
    knob = recorded(shell, tmp_path, "", left, PERFCASE_NO_TRACE_CMD="1")["buffer_size_kb"]
    assert (tmp_path / "tracefs" / "buffer_size_kb").read_text() == "1408\n"
    assert (knob["before"], knob["restored"]) == (UNUSED, False)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a sample rate of its own")
@pytest.mark.parametrize("lowered", [True, False])
def test_a_rate_that_the_kernel_lowered_is_said(shell: str, lowered: bool, tmp_path: Path) -> None:
    """perf_event_max_sample_rate falls for all of the host when samples took too long; nobody but the kernel raises it again."""
    write = "echo 25000 >/proc/sys/kernel/perf_event_max_sample_rate" if lowered else "true"
    knobs = recorded(shell, tmp_path, "", f"{write}; sleep 0.1")
    assert (tmp_path / "rate").read_text() == ("25000\n" if lowered else "100000\n"), "it is left to the kernel"
    expected = {
        "path": "/proc/sys/kernel/perf_event_max_sample_rate",
        "before": "100000",
        "during": "25000",
        "restored": False,
    }
    assert knobs.get("perf_event_max_sample_rate") == (expected if lowered else None)
