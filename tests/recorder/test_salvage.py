"""--salvage: the folder of a recorder that was killed becomes a capture."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from tests.recorder.support import SHELLS, Capture, command, environment, parse_snapshots, run

pytestmark = pytest.mark.parametrize("shell", SHELLS)


def killed(shell: str, folder: Path, until: str) -> Path:
    """What is left of a recorder that was killed when this was there."""
    recorder = subprocess.Popen(
        command(shell, "-q", "-o", folder / "x.perfcase", "--symbols", "none", "--", "sleep", "8"),
        env=environment(PERFCASE_NO_TRACE_CMD="1"),
    )
    staging = folder / "x.perfcase.recording"
    end = time.monotonic() + 20
    while not (staging / until).exists() and time.monotonic() < end:
        time.sleep(0.005)
    if until == "manifest.json":
        time.sleep(0.5)
        refused = run(shell, "--salvage", staging)
        assert (refused.returncode, "is still at work" in refused.stderr) == (1, True), refused.stderr
    recorder.kill()
    recorder.wait()
    return staging


def salvaged(shell: str, staging: Path, *options: str | Path) -> subprocess.CompletedProcess[str]:
    """Packs it when the tools have ended: they take a moment, perf up to a second."""
    end = time.monotonic() + 10
    while True:
        done = run(shell, "--salvage", staging, *options)
        if "still at work" not in done.stderr or time.monotonic() > end:
            return done
        time.sleep(0.2)


@pytest.mark.parametrize("until", ["manifest.json", "proc/snapshots"])
def test_a_killed_recording_is_a_capture(shell: str, until: str, tmp_path: Path) -> None:
    staging = killed(shell, tmp_path, until)
    done = salvaged(shell, staging)
    assert done.returncode == 0, done.stderr
    assert "the recorder was killed: the end of each source may be missing, and all of: host" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["x.perfcase"]
    capture = Capture.read(tmp_path / "x.perfcase")
    assert capture.manifest["recorder"]["stopped_by"] == "unfinished"
    assert parse_snapshots(capture.content("proc/snapshots"))
    if until == "manifest.json":
        capture.check()
        if capture.source("ftrace")["status"] != "missing":
            assert "ftrace/raw/header_page" in capture.paths()


def test_killed_while_it_compressed(shell: str, tmp_path: Path) -> None:
    """A member that is there twice was not yet whole."""
    staging = killed(shell, tmp_path, "manifest.json")
    (staging / "proc" / "snapshots.gz").write_bytes(b"half of it")
    assert salvaged(shell, staging, "-q", "-o", tmp_path / "y").returncode == 0
    assert parse_snapshots(Capture.read(tmp_path / "y").content("proc/snapshots"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--salvage", "nothing.recording"], "nothing.recording is not the folder of a recording"),
        (["--salvage", "x"], "say with -o where the capture goes"),
        (["--salvage", ""], "the folder that a killed recorder left"),
    ],
)
def test_what_is_no_recording_is_left_alone(shell: str, words: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "nothing.recording").mkdir()
    done = subprocess.run(
        command(shell, *words), cwd=tmp_path, capture_output=True, text=True, env=environment(), check=False
    )
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert (tmp_path / "nothing.recording").is_dir()
