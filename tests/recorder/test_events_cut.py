"""perfcase-helper records events, and is killed, or has no room: what it wrote can be read."""

from __future__ import annotations

import os
import re
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

from perfcase.case import query, store
from tests.recorder.events import SAMPLE, SCHEDULER, arguments, recording, records
from tests.recorder.support import SHELLS, TRACEFS, Capture, in_own_mounts, parts, run

pytestmark = pytest.mark.skipif(TRACEFS is None or os.geteuid() != 0, reason="tracefs is not here, or not ours to use")


def test_a_recorder_that_is_killed_leaves_a_whole_file(tmp_path: Path) -> None:
    """All but the last moments, with the formats of its events."""
    target = subprocess.Popen(["sh", "-c", "while :; do sleep 0.01; done"])
    try:
        with recording(tmp_path, target.pid, status=-signal.SIGKILL) as recorder:
            end = time.monotonic() + 30
            while (tmp_path / "perf.data").stat().st_size < 100_000 and time.monotonic() < end:
                time.sleep(0.05)
            recorder.kill()
    finally:
        target.kill()
        target.wait()
    # Killed while it adds records: the header says nothing of them, and the list of the features is not behind them.
    head = struct.unpack("<13Q", (tmp_path / "perf.data").read_bytes()[:104])
    whole = (tmp_path / "perf.data").read_bytes()
    adding = bytearray(whole[: head[5] + head[6]] if head[6] else whole)
    adding[48:56] = bytes(8)
    adding[72:104] = bytes(32)
    (tmp_path / "adding.data").write_bytes(adding)
    for name, issues in (("perf.data", ["killed_recording"] * (head[6] == 0)), ("adding.data", ["killed_recording"])):
        case = store.open_case(tmp_path / name, tmp_path / f"{name}.case")
        with query.connect(case.folder) as connection:
            ((switches, names),) = connection.execute(
                "SELECT count(*), list_sort(list(DISTINCT comm)) FROM sched_switch JOIN thread USING (utid)"
            ).fetchall()
            assert (switches > 10, names) == (True, ["sh", "sleep"])
            assert connection.execute("SELECT kind FROM import_issue").fetchall() == [(kind,) for kind in issues]


def test_what_will_be_overwritten_lies_in_the_last_page(tmp_path: Path) -> None:
    """A file that is whole now and grows later has its table of features where no whole page has any of it: those may have been
    compressed, and taken out of the file."""
    made = tmp_path / "perf.data"
    steps = [1] * 1500
    done = subprocess.run(
        [parts(), "whole", made, *map(str, steps)], capture_output=True, text=True, check=True, timeout=60
    )
    said = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    features, begin = said[-1][1], said[-1][2]
    for number, (size, has, at) in enumerate(said[:-1], 1):
        end = begin + 8 * number
        is_whole = end % 4096 + 16 * features < 4096
        assert (size, has, at) == ((8 * number, features, begin) if is_whole else (0, 0, begin))
    assert said[-1] == (8 * len(steps), features, begin)
    assert made.stat().st_size == begin + 8 * len(steps) + 16 * features
    assert len(records(made)) == len(steps)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_capture_says_that_its_recorder_of_events_was_killed(shell: str, tmp_path: Path) -> None:
    out = tmp_path / "x.perfcase"
    kill = 'sleep 0.5; kill -9 "$(cat "$1/perf.pid")"; sleep 1.5'
    words = ["--symbols", "none", "--stacks", "all", "-o", out, "--", "sh", "-c", kill, "sh", f"{out}.recording/.state"]
    assert run(shell, *words, PERFCASE_NO_PERF="1", PERFCASE_NO_TRACE_CMD="1").returncode == 0
    source = Capture.read(out).source("perf")
    assert source["status"] == "degraded"
    assert source["reason"].startswith("perf was not wanted (PERFCASE_NO_PERF): perfcase-helper opens the events;"), (
        source["reason"]
    )
    assert re.search(r"ended \d\.\d s before the recording did|its process was killed", source["reason"])
    assert source["event_count"] > 0


def test_a_full_disk_ends_it_and_what_was_written_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    words = arguments(tmp_path, "stream", "TARGET", 512, SCHEDULER, "cpu-clock")
    words[words.index(str(tmp_path / "perf.data"))] = str(tmp_path / "small" / "perf.data")
    script = (
        'mount -t tmpfs -o size=200k none "$1" || exit 99; shift\n'
        "sh -c 'while :; do :; sleep 0.001; done' & target=$!\n"
        'out=$3; scope=$4; shift 4; "$0" events stream "$out" "$target" "$@"; status=$?\n'
        'kill "$target"; cp "$out" "$out.." 2>/dev/null; cp "$out" "$KEPT"; exit "$status"\n'
    )
    # The words of the command begin with the helper and `events stream`.
    script = script.replace('"$0"', f"'{words[0]}'")
    done = in_own_mounts(
        script, tmp_path / "small", *words[1:3], *words[3:], timeout=60, KEPT=str(tmp_path / "kept.data")
    )
    assert done.returncode == 1, done.stderr
    assert "No space left on device: the recording ends there" in done.stderr
    kept = tmp_path / "kept.data"
    # Where the head could not be written again either, it has no size, and the records go on to the file's end (schema/README.md).
    if any(kept.read_bytes()[48:56]):
        assert len([record for record in records(kept) if record.kind == SAMPLE]) > 50
    with query.connect(store.open_case(kept, tmp_path / "x.case").folder) as connection:
        ((switches,),) = connection.execute("SELECT count(*) FROM sched_switch").fetchall()
        assert switches > 50
