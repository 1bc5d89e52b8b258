"""Where a capture goes: names with anything in them, and whatever has that name already."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.recorder.support import SHELLS, Capture, command, control_group, environment, path_without, run

pytestmark = pytest.mark.parametrize("shell", SHELLS)


@pytest.fixture
def quick() -> dict[str, str]:
    """An environment of a recorder that has fewer sources to start."""
    path = path_without("perf", "trace-cmd")
    return {"PATH": path, "PERFCASE_NO_TRACE_CMD": "1"}


@pytest.mark.parametrize("compression", ["zstd", "gzip"])
def test_a_name_may_hold_anything(shell: str, compression: str, tmp_path: Path, quick: dict[str, str]) -> None:
    """Blanks and newlines once split the list of what is compressed and deleted."""
    names = ["prod db", 'it\'s "x" $(touch y) `touch y`', "two\nlines", "-rf [a-z]*? \\"]
    others = ["prod", "db.perfcase.recording", "two", "lines.perfcase.recording", "a", "y"]
    for other in others[:-1]:
        (tmp_path / other).write_bytes(os.urandom(4000))
    for name in names:
        done = subprocess.run(
            command(shell, "-q", "-o", f"{name}.perfcase", "--", "true"), cwd=tmp_path, capture_output=True, text=True,
            env=environment(**quick, PERFCASE_COMPRESSION=compression), timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), name
        manifest = Capture.read(tmp_path / f"{name}.perfcase").manifest
        assert compression in {member["compression"] for member in manifest["members"]}
    assert {path.name for path in tmp_path.iterdir()} == {*others[:-1], *(f"{name}.perfcase" for name in names)}
    assert {(tmp_path / other).stat().st_size for other in others[:-1]} == {4000}


def test_a_comma_in_the_name_loses_no_source(shell: str, tmp_path: Path) -> None:
    """perf is told of two pipes in the recorder's folder with a comma in between."""
    for name in ("plain", "a,b"):
        assert run(shell, "-q", "-o", tmp_path / name, "--symbols", "none", "--", "true").returncode == 0
    plain, comma = (Capture.read(tmp_path / name).manifest["sources"] for name in ("plain", "a,b"))
    assert [(source["name"], source["status"]) for source in plain] == [
        (source["name"], source["status"]) for source in comma
    ]


def test_a_control_group_may_have_any_name(shell: str, tmp_path: Path, quick: dict[str, str]) -> None:
    target = subprocess.Popen(["sleep", "60"])
    with control_group(f"-it's a, *[g]roup {os.getpid()}", target) as group:
        done = run(shell, "-q", "-o", tmp_path / "x", "--duration", "0.2", "--cgroup", group.name, **quick)
        absolute = run(shell, "-q", "-o", tmp_path / "y", "--duration", "0.2", "--cgroup", str(group), **quick)
    assert absolute.returncode == 0, absolute.stderr
    assert Capture.read(tmp_path / "y").manifest["recorder"]["target"]["cgroup"] == str(group)
    assert done.returncode == 0, done.stderr
    assert Capture.read(tmp_path / "x").manifest["recorder"]["target"]["cgroup"] == str(group)


def test_links_and_devices_are_refused(shell: str, tmp_path: Path) -> None:
    # Never on /dev/null itself: a recorder that fails this test would take it from the machine.
    (tmp_path / "kept").write_text("mine")
    (tmp_path / "link").symlink_to("kept")
    (tmp_path / "dangling").symlink_to("nothing")
    nodes = ["link", "dangling"]
    if os.geteuid() == 0:
        os.mknod(tmp_path / "device", stat.S_IFCHR | 0o600, os.makedev(1, 3))
        nodes.append("device")
    for name in nodes:
        for force in ([], ["--force"]):
            before = (tmp_path / name).lstat()
            done = run(shell, "-o", tmp_path / name, *force, "--", "touch", tmp_path / "it-ran")
            assert (done.returncode, "perfcase-record: -o" in done.stderr) == (2, True), done.stderr
            assert (tmp_path / name).lstat() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["kept", *nodes])


def test_a_file_is_replaced_only_when_asked(shell: str, tmp_path: Path, quick: dict[str, str]) -> None:
    out = tmp_path / "x.perfcase"
    out.write_text("mine")
    done = run(shell, "-o", out, "--", "touch", tmp_path / "it-ran", **quick)
    assert done.returncode == 1
    assert f"{out} exists: --force replaces it" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["x.perfcase"], "nothing ran"
    assert out.read_text() == "mine"
    assert run(shell, "-q", "--force", "-o", out, "--", "true", **quick).returncode == 0
    Capture.read(out).check()


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_what_appears_during_the_recording_is_kept(
    shell: str, force: list[str], tmp_path: Path, quick: dict[str, str]
) -> None:
    """With --force a file is replaced then too; but a link never."""
    out = tmp_path / "x.perfcase"
    (tmp_path / "x-2.perfcase").write_text("mine as well")
    appear = 'ln -s x-2.perfcase "$0"' if force else 'echo mine >"$0"'
    done = run(shell, *force, "-o", out, "--", "sh", "-c", appear, out, **quick)
    assert done.returncode == 1
    assert f"{out} came into being during the recording and was left alone" in done.stderr
    assert f"wrote {tmp_path}/x-3.perfcase" in done.stderr
    Capture.read(tmp_path / "x-3.perfcase").check()
    assert (tmp_path / "x-2.perfcase").read_text() == "mine as well"
    assert out.is_symlink() if force else out.read_text() == "mine\n"
    assert len(list(tmp_path.iterdir())) == 3
