"""--redact: the capture has pseudonyms before it has its name, and what was recorded is nowhere else."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.recorder.support import SHELLS, Capture, run
from tests.support.cli import succeed

pytestmark = pytest.mark.parametrize("shell", SHELLS)
PERFCASE = Path(sys.executable).with_name("perfcase")
SECRET = "--token=s3cretT0ken"
OPTIONS = ("-q", "--symbols", "none", "--redact")


def recorded(
    shell: str, folder: Path, *options: str | Path, redactor: Path = PERFCASE
) -> subprocess.CompletedProcess[str]:
    """A command with a secret in its arguments."""
    words = ["-o", folder / "x.perfcase", *options, "--", "sh", "-c", "sleep 0.3", SECRET]
    return run(shell, *OPTIONS, *words, PERFCASE_REDACTOR=str(redactor), PERFCASE_NO_TRACE_CMD="1")


def test_the_capture_has_pseudonyms(shell: str, tmp_path: Path) -> None:
    done = recorded(shell, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.perfcase", "x.perfcase.key"]
    key = tmp_path / "x.perfcase.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    capture = Capture.read(tmp_path / "x.perfcase")
    assert "redacted" in capture.manifest
    assert capture.manifest["host"]["hostname"] != os.uname().nodename
    command_line = capture.manifest["recorder"]["target"]["command"]
    assert SECRET not in str(capture.manifest)
    assert SECRET in succeed("reveal", "--key", key, " ".join(command_line))
    # Another capture with the same key has the same pseudonyms.
    again = tmp_path / "again"
    again.mkdir()
    assert recorded(shell, again, "--key", key).returncode == 0
    assert [path.name for path in again.iterdir()] == ["x.perfcase"]
    assert Capture.read(again / "x.perfcase").manifest["host"]["hostname"] == capture.manifest["host"]["hostname"]


def test_a_redactor_that_fails_leaves_the_folder(shell: str, tmp_path: Path) -> None:
    redactor = tmp_path / "perfcase"
    redactor.write_text('#!/bin/sh\n[ "$2" = --help ] && exit\necho perfcase: there is no memory >&2\nexit 1\n')
    redactor.chmod(0o755)
    done = recorded(shell, tmp_path, redactor=redactor)
    assert done.returncode == 1
    assert "the capture could not be redacted, so it was not written: there is no memory" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["perfcase", "x.perfcase.recording"]
    staging = tmp_path / "x.perfcase.recording"
    assert stat.S_IMODE(staging.stat().st_mode) == 0o700
    plain = run(shell, "--salvage", staging)
    assert (plain.returncode, "was to be redacted: add --redact" in plain.stderr) == (1, True), plain.stderr
    assert not (tmp_path / "x.perfcase").exists()
    saved = run(shell, *OPTIONS, "--salvage", staging, PERFCASE_REDACTOR=str(PERFCASE))
    assert saved.returncode == 0, saved.stderr
    assert "redacted" in Capture.read(tmp_path / "x.perfcase").manifest
    assert sorted(path.name for path in tmp_path.iterdir()) == ["perfcase", "x.perfcase", "x.perfcase.key"]


def test_what_cannot_be_redacted_is_said_before(shell: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "folder").mkdir()
    for words, said in (
        (["--redact", "-o", "-"], "--redact writes a file"),
        (["--key", "k"], "--key and --rules go with --redact"),
        (["--redact", "--rules", tmp_path / "none"], "none: a file with rules"),
        (["--redact", "--every", "10m", "--keep", "2"], "name one key for all captures"),
        (["--redact", "--key", tmp_path / "link"], "is a symbolic link"),
        (["--redact", "--key", tmp_path / "folder"], "is not a file of yours"),
    ):
        done = run(shell, *([] if "-o" in words else ["-o", tmp_path / "x.perfcase"]), *words)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    key = tmp_path / "key"
    key.write_text("no key")
    for path, said in (
        (key, "not a key of perfcase redact"),
        (tmp_path / "nowhere" / "key", "there is no such folder"),
    ):
        done = recorded(shell, tmp_path, "--key", path)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    key.unlink()
    missing = recorded(shell, tmp_path, redactor=tmp_path / "nothing")
    assert (missing.returncode, "pip install perfcase" in missing.stderr) == (1, True), missing.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "link"]
