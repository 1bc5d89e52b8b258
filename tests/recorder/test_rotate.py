"""--every: captures one after the other without a gap, of which the newest stay; nothing else is ever removed."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.recorder.support import SHELLS, Capture, command, environment, helper, in_own_mounts, path_without, run

pytestmark = pytest.mark.parametrize("shell", SHELLS)
NAME = re.compile(r"it's a-\d{8}-\d{6}\.perfcase")


def put_before(environ: dict[str, str], name: str, script: str) -> None:
    """A command that comes before the machine's of this name."""
    tool = Path(environ["PATH"].partition(":")[0], name)
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)


@pytest.fixture
def quick(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment of a recorder that has fewer sources to start; the next piece begins a second before the last one ends."""
    path = f"{tmp_path_factory.mktemp('tools')}:{path_without('perf', 'trace-cmd')}"
    return {"PATH": path, "PERFCASE_NO_TRACE_CMD": "1", "PERFCASE_ROTATE_AHEAD_S": "1"}


@pytest.fixture
def target() -> Iterator[str]:
    sleeping = subprocess.Popen(["sleep", "100"])
    yield str(sleeping.pid)
    sleeping.kill()
    sleeping.wait()


def recorded(path: Path) -> tuple[int, int]:
    """When a capture begins and ends."""
    capture = Capture.read(path)
    capture.check()
    begin, end = capture.manifest["clock"]["anchors"]
    return begin["monotonic_ns"], end["monotonic_ns"]


def started(shell: str, quick: dict[str, str], *words: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(shell, *words), env=environment(**quick), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def wait_for(folder: Path, pattern: str) -> Path:
    end = time.monotonic() + 30
    while not (found := sorted(folder.glob(pattern))):
        assert time.monotonic() < end, pattern
        time.sleep(0.05)
    return found[-1]


# More than ten seconds: three pieces of three seconds, one of which begins late.
def test_pieces_follow_each_other_without_a_gap(shell: str, tmp_path: Path, quick: dict[str, str], target: str) -> None:
    """Also where the second piece takes longer to begin than the first, by more than the second that it is given."""
    real = shutil.which("dirname", path=quick["PATH"])
    wait = 'echo >>"$0.calls"; [ "$(wc -l <"$0.calls")" -lt 3 ] || sleep 2.5'
    put_before(quick, "dirname", f'{wait}\nexec {real} "$@"')
    words = ["--every=3s", "--keep", "2", "--duration", "8", "--pid", target, "-o", tmp_path / "it's a.perfcase", "--"]
    done = run(shell, *words, **quick)
    assert done.returncode == 0, done.stderr
    pieces = sorted(tmp_path.iterdir())
    assert [bool(NAME.fullmatch(piece.name)) for piece in pieces] == [True, True]
    (_, first_end), (second_begin, _) = map(recorded, pieces)
    assert second_begin < first_end
    removed = re.findall(r"^removed (.*): 2 are kept$", done.stderr, re.MULTILINE)
    written = re.findall(r"^wrote (.*) \(\d+ bytes\)", done.stderr, re.MULTILINE)
    assert (written[: len(removed)], written[len(removed) :]) == (removed, [str(piece) for piece in pieces])
    assert len(written) in (2, 3, 4), "as many as the machine has time for"
    assert f"kept: 2 captures, {tmp_path}/it's a-*.perfcase" in done.stderr


def test_a_piece_that_nothing_follows_ends_and_says_it(
    shell: str, tmp_path: Path, quick: dict[str, str], target: str
) -> None:
    words = ["--piece", tmp_path / "x.perfcase", "--duration", "0.5", "--pid", target]
    done = run(
        shell,
        *words,
        PERFCASE_PIECE_REPORT=str(tmp_path / "x"),
        PERFCASE_PIECE_RELIEVES=str(tmp_path / "y.next"),
        **quick,
    )
    assert (done.returncode, (tmp_path / "y.next").exists()) == (0, True), done.stderr
    begin_ns, end_ns = recorded(tmp_path / "x.perfcase")
    assert end_ns - begin_ns > 1_000_000_000
    said = "the next piece has not begun after twice the time: what lies between is not recorded"
    assert said in done.stderr
    (tmp_path / "x.perfcase").unlink()
    (tmp_path / "x.next").touch()
    done = run(
        shell,
        *words,
        PERFCASE_PIECE_REPORT=str(tmp_path / "x"),
        PERFCASE_PIECE_RELIEVES=str(tmp_path / "y.next"),
        **quick,
    )
    assert (done.returncode, said in done.stderr) == (0, False), done.stderr


def test_only_what_it_made_is_removed(shell: str, tmp_path: Path, quick: dict[str, str], target: str) -> None:
    """A file that took a piece's name stays, and so does what looks like a piece."""
    other = tmp_path / "x-20200101-000000.perfcase"
    other.write_text("mine")
    words = ["--every", "3s", "--keep", "1", "--pid", target, "-o", tmp_path / "x.perfcase"]
    recorder = started(shell, quick, *words)
    piece = wait_for(tmp_path, "x-202[1-9]*.perfcase")
    piece.rename(tmp_path / "saved")
    piece.write_text("mine too")
    recorder.send_signal(signal.SIGINT)
    _, said = recorder.communicate(timeout=60)
    assert recorder.returncode == 0, said
    assert f"{piece} is no longer what was recorded: left alone" in said
    assert (other.read_text(), piece.read_text()) == ("mine", "mine too")
    assert len(list(tmp_path.iterdir())) == 4


def test_what_takes_the_name_of_a_piece_at_once_is_not_the_piece(
    shell: str, tmp_path: Path, quick: dict[str, str], target: str
) -> None:
    """Another's file that is there as soon as the piece has its name was taken for the piece, and removed after the next."""
    swap = '[ "$1" != place ] || { REAL "$@" && mv "$3" "$3.saved" && echo mine >"$3"; exit; }'
    script = tmp_path / "helper"
    script.write_text(f'#!/bin/sh\n{swap.replace("REAL", str(helper()))}\nexec {helper()} "$@"\n')
    script.chmod(0o755)
    words = ["--every", "3s", "--keep", "1", "--duration", "5", "--pid", target, "-o", tmp_path / "x"]
    done = run(shell, *words, **quick, PERFCASE_HELPER=str(script))
    assert done.returncode == 0, done.stderr
    assert "is no longer what was recorded: left alone" in done.stderr
    assert not re.search("^removed ", done.stderr, re.MULTILINE)
    assert {path.read_text() for path in tmp_path.glob("*.perfcase")} == {"mine\n"}


def test_a_host_whose_programs_are_gone_ends_it(shell: str, tmp_path: Path, quick: dict[str, str], target: str) -> None:
    """A recorder that was removed while it ran once asked for the time without end."""
    put_before(quick, "date", "exit 1")
    done = run(shell, "--every", "3s", "--keep", "2", "--pid", target, "-o", tmp_path / "x", **quick)
    assert done.returncode == 1
    assert "date tells no time" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_budget_is_for_all_of_them(shell: str, tmp_path: Path, quick: dict[str, str], target: str) -> None:
    """It removes the oldest, where it would end a recording by itself."""
    words = ["--every", "3s", "--budget", "4M", "--duration", "9", "--pid", target, "-o", tmp_path / "x"]
    done = run(shell, *words, **quick)
    assert done.returncode == 0, done.stderr
    pieces = list(tmp_path.iterdir())
    # A busy machine has time for two pieces only, which have room.
    written = re.findall(r"^wrote ", done.stderr, re.MULTILINE)
    assert ("half of the budget of 4M is for captures that are finished" in done.stderr) == (len(written) > 2), (
        done.stderr
    )
    assert sum(piece.stat().st_size for piece in pieces) <= 2 << 20 or len(pieces) == 1
    assert Capture.read(pieces[0]).manifest["recorder"]["budget_bytes"] == 1 << 20


def test_a_signal_ends_the_piece_and_keeps_it(shell: str, tmp_path: Path, quick: dict[str, str], target: str) -> None:
    recorder = started(shell, quick, "--every", "1m", "--keep", "3", "--pid", target, "-o", tmp_path / "x")
    wait_for(tmp_path, "x-*.recording/manifest.json")
    time.sleep(0.5)
    recorder.send_signal(signal.SIGINT)
    _, said = recorder.communicate(timeout=30)
    assert recorder.returncode == 0, said
    (piece,) = tmp_path.iterdir()
    recorded(piece)
    assert Capture.read(piece).manifest["recorder"]["interrupted_by"] == "SIGINT"


def test_a_second_signal_leaves_at_once(shell: str, tmp_path: Path, quick: dict[str, str], target: str) -> None:
    """With a tool that does not end: the piece's recorder leaves too."""
    put_before(quick, "zstd", "sleep 20")
    slow = {**quick, "PERFCASE_COMPRESSION": "zstd"}
    recorder = started(shell, slow, "--every", "1m", "--keep", "3", "--pid", target, "-o", tmp_path / "x")
    folder = wait_for(tmp_path, "x-*.recording/manifest.json").parent
    time.sleep(0.5)
    recorder.send_signal(signal.SIGTERM)
    wait_for(folder, ".state/sizes")
    time.sleep(0.5)
    before = time.monotonic()
    recorder.send_signal(signal.SIGTERM)
    assert recorder.wait(10) == 128 + signal.SIGTERM
    assert recorder.stderr
    said = recorder.stderr.read()
    assert time.monotonic() - before < 5, "the piece's recorder has ended too: it has standard error"
    assert f"what was recorded is in the folder {folder}: perfcase-record --salvage packs it" in said
    assert folder.is_dir()


def test_it_ends_with_its_target(shell: str, tmp_path: Path, quick: dict[str, str]) -> None:
    target = subprocess.Popen(["sleep", "5"])
    words = ["--every", "3s", "--keep", "9", "--pid", str(target.pid), "-o", tmp_path / "x"]
    recorder = started(shell, quick, *words)
    target.wait()
    _, said = recorder.communicate(timeout=30)
    assert (recorder.returncode, "stopped: what is recorded has ended" in said) == (0, True), said
    assert {Capture.read(piece).manifest["recorder"]["stopped_by"] for piece in tmp_path.iterdir()} <= {
        "duration", "target_exit",
    }  # fmt: skip
    assert len(list(tmp_path.iterdir())) in (1, 2, 3)


def test_what_cannot_be_sent_stays_and_the_recording_goes_on(
    shell: str, tmp_path: Path, quick: dict[str, str], target: str
) -> None:
    words = ["--every", "3s", "--keep", "9", "--duration", "5", "--pid", target, "--upload", "http://127.0.0.1:9"]
    done = subprocess.run(
        command(shell, *words), cwd=tmp_path, env=environment(**quick, PERFCASE_UPLOAD_TRIES="1"), capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip
    pieces = sorted(path.name for path in tmp_path.iterdir())
    assert done.returncode == 1, done.stderr
    assert len(pieces) == done.stderr.count("could not send the capture: Failed to connect") > 1
    assert all(re.fullmatch(r"perfcase-.+-\d{8}-\d{6}\.perfcase", piece) for piece in pieces)
    assert not any(re.search(r"\d{6}-\d{8}", piece) for piece in pieces)


def test_a_full_disk_loses_the_oldest(shell: str, tmp_path: Path, quick: dict[str, str], target: str) -> None:
    script = 'mount -t tmpfs -o size=67m tmpfs "$1" || exit 99; out=$1; shift; "$@"; ls "$out"'
    words = ["--every", "3s", "--keep", "9", "--duration", "8", "--pid", target, "-o", tmp_path / "x"]
    done = in_own_mounts(script, tmp_path, *command(shell, *words), timeout=60, **quick)
    removed = re.findall(r"^removed .*/(.*): the disk is nearly full$", done.stderr, re.MULTILINE)
    written = re.findall(r"^wrote .*/(.*) \(", done.stderr, re.MULTILINE)
    # A busy machine has time for three pieces only: there was room for them when the third began.
    first = int(len(written) > 3)
    assert (removed, done.stdout.split()) == (written[:first], written[first:]), done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--every", "2s", "--keep", "1"], "--every 2s: at least 3 seconds, such as 10m"),
        (["--every", ""], "--every '': a time, such as 10m"),
        (["--every", "1d", "--keep", "1"], "--every 1d: at least"),
        (["--every", "10m"], "--every needs --keep or --budget"),
        (["--every", "10m", "--keep", "0"], "--keep 0: a number of captures, at least 1"),
        (["--every", "10m", "--budget", "1M"], "--budget 1M: at least 4M with --every"),
        (["--every", "10m", "--keep", "1", "-o", "-"], "--every writes files: not with -o -"),
        (["--keep", "1"], "--keep goes with --every"),
        (["--every", "10m", "--keep", "1", "--", "true"], "--every: a command runs once"),
    ],
)
def test_wrong_usage(shell: str, words: list[str], said: str, tmp_path: Path, quick: dict[str, str]) -> None:
    done = subprocess.run(
        command(shell, *words), cwd=tmp_path, env=environment(**quick), stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert (done.returncode, said in done.stderr, list(tmp_path.iterdir())) == (2, True, []), done.stderr
