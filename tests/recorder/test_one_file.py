"""The recorder in one file: it records as the folder does, is whole or does nothing, and leaves nothing."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.recorder.packages import built, one_file, run_one_file, unpacking, what_stays
from tests.recorder.support import RECORDER, ROOT, SHELLS, Capture, environment, in_own_mounts, path_without, run
from tests.support.scale import scaled

in_both_shells = pytest.mark.parametrize("shell", SHELLS)
NOT_WHOLE = "perfcase-record: this file is not whole, or no disk has room for it: download it again, and check it with sha256sum\n"
NOWHERE = (
    "perfcase-record: programs can run from none of TMPDIR, /tmp, /var/tmp, /run, /dev/shm and HOME, or their disks are full:"
    " set TMPDIR to a folder with 3 MB free where they can\n"
)


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    """A TMPDIR with a name that a shell could take for something else."""
    folder = tmp_path / 'it\'s a "$(touch oops)"\n -rf *'
    folder.mkdir()
    return folder


@in_both_shells
def test_it_records_a_command(shell: str, tmp_path: Path, temporary: Path) -> None:
    out = tmp_path / "x.perfcase"
    words = [
        "sh",
        "-c",
        'echo "$1"; ls -d "$2"/*; sleep 0.2',
        "sh",
        "a  b\n'c",
        temporary,
    ]
    done = run_one_file(shell, "-o", out, "--", *words, TMPDIR=str(temporary))
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said[:2] == ["a  b", "'c"]
    assert len([line for line in said if "perfcase-record." in line]) == 1, "unpacked into TMPDIR"
    capture = Capture.read(out)
    capture.check()
    assert capture.manifest["recorder"]["stopped_by"] == "target_exit"
    assert {source["name"] for source in capture.manifest["sources"]} >= {"host", "proc", "process", "perf", "ftrace"}
    assert what_stays(temporary) == []
    assert not Path("oops").exists()


@in_both_shells
@pytest.mark.parametrize(
    "options",
    [["--version"], ["--help"], ["--check"], ["--frequency", "99"], ["--pid", "4194305"], ["-o", "/no/such/folder/x", "--", "true"]],
    ids=" ".join,
)  # fmt: skip
def test_it_says_what_the_folder_says(shell: str, options: list[str], temporary: Path) -> None:
    done = run_one_file(shell, *options, TMPDIR=str(temporary))
    expected = run(shell, *options)
    assert (done.returncode, done.stdout, done.stderr) == (expected.returncode, expected.stdout, expected.stderr)
    assert what_stays(temporary) == []


@in_both_shells
def test_a_command_has_its_users_environment(shell: str, tmp_path: Path) -> None:
    said = []
    for each in (run_one_file, run):
        out = tmp_path / each.__name__
        done = each(
            shell,
            "-q",
            "-o",
            out,
            "--",
            "sh",
            "-c",
            "umask; env | grep -v -e '^_=' -e '^SHLVL=' | sort",
            GZIP="-1",
            folder="mine",
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert said[0] == said[1]


@in_both_shells
@pytest.mark.parametrize("given", ["a file", "standard input"])
def test_cut_it_does_nothing(shell: str, given: str, tmp_path: Path, temporary: Path) -> None:
    whole = one_file().read_bytes()
    begin, end = whole.index(b"{\n") + 2, whole.rindex(b"}")
    chosen = random.Random(shell + given)
    lengths = {begin, end, *(chosen.randrange(begin, end) for _ in range(scaled(40, 4)))}
    # The first line of the text, and each place in the last lines.
    lengths |= {whole.index(b"<<'PAYLOAD'\n") + 20, *range(end - 60, end, max(1, round(20 / scaled(20))))}
    cut = tmp_path / "cut"
    ran = tmp_path / "x.perfcase"
    for length in lengths:
        cut.write_bytes(whole[:length])
        words = ["-s", "--"] if given == "standard input" else [cut]
        with cut.open("rb") as file:
            done = subprocess.run(
                [*SHELLS[shell], *words, "-o", ran, "--", "true"],
                stdin=file, env=environment(TMPDIR=str(temporary)), capture_output=True, text=True, timeout=60, check=False,
            )  # fmt: skip
        assert (done.returncode, done.stdout, ran.exists()) == (2, "", False), (length, done.stderr)
        assert list(temporary.iterdir()) == []


@in_both_shells
def test_changed_it_does_nothing(shell: str, tmp_path: Path, temporary: Path) -> None:
    whole = one_file().read_bytes()
    begin = whole.index(b"<<'PAYLOAD'\n") + 12
    if os.uname().machine == "aarch64":
        begin = whole.index(b"<<'PAYLOAD'\n", begin) + 12
    end = whole.index(b"\nPAYLOAD\n", begin)
    chosen = random.Random(shell)
    changed = tmp_path / "changed"
    for at in [begin, end - 1, *(chosen.randrange(begin, end) for _ in range(scaled(30, 3)))]:
        if whole[at] == ord("\n"):
            continue
        data = bytearray(whole)
        data[at] = ord("A") if data[at] != ord("A") else ord("B")
        changed.write_bytes(data)
        done = run_one_file(shell, "--version", file=changed, TMPDIR=str(temporary))
        assert (done.returncode, done.stdout, done.stderr) == (1, "", NOT_WHOLE), at
    assert list(temporary.iterdir()) == []


@in_both_shells
def test_it_comes_through_a_pipe(shell: str, tmp_path: Path, temporary: Path) -> None:
    out = tmp_path / "x.perfcase"
    with subprocess.Popen(["cat", one_file()], stdout=subprocess.PIPE) as download:
        done = subprocess.run(
            [*SHELLS[shell], "-s", "--", "-q", "-o", out, "--", "sh", "-c", "echo hello; cat"],
            stdin=download.stdout, env=environment(TMPDIR=str(temporary)), capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello\n", "")
    Capture.read(out).check()
    assert what_stays(temporary) == []


@in_both_shells
@pytest.mark.parametrize(
    ("mounts", "told"),
    [
        ({"/tmp": "noexec", "/var/tmp": "size=4k"}, ""),
        ({"/tmp": "size=300k"}, ""),
        (dict.fromkeys(["/tmp", "/var/tmp", "/run", "/dev/shm"], "noexec"), NOWHERE),
        (dict.fromkeys(["/tmp", "/var/tmp", "/run", "/dev/shm"], "ro"), NOWHERE),
    ],
    ids=["noexec", "full", "noexec everywhere", "read-only"],
)
def test_where_it_cannot_unpack(shell: str, mounts: dict[str, str], told: str) -> None:
    script = "".join(f"mount -t tmpfs -o mode=1777,{how} none {where} || exit 99\n" for where, how in mounts.items())
    script += '"$@"; status=$?; sleep 0.3; find ' + " ".join(mounts) + " -name 'perfcase*'; exit $status"
    done = in_own_mounts(script, *SHELLS[shell], one_file(), "--version", timeout=60, HOME="/tmp", TMPDIR="/tmp")
    expected = run(shell, "--version").stdout if not told else ""
    assert (done.returncode, done.stdout, done.stderr) == (1 if told else 0, expected, told)


@in_both_shells
def test_a_folder_that_others_could_change_is_passed_over(shell: str, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs a folder of another user")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    theirs.chmod(0o777)
    os.chown(theirs, 65534, 65534)
    for given in (str(theirs), "-rf"):
        where = "ls -d /tmp/perfcase-record.*; ls -A " + str(theirs)
        done = run_one_file(
            shell, "-q", "-o", tmp_path / given.replace("/", "_"), "--", "sh", "-c", where, TMPDIR=given
        )
        assert done.stdout.startswith("/tmp/perfcase-record."), done.stderr
        assert str(theirs) not in done.stdout
    assert list(theirs.iterdir()) == []


@in_both_shells
@pytest.mark.parametrize("absent", ["base64", "sha256sum", "tar"])
def test_what_is_missing_is_named(shell: str, absent: str, tmp_path: Path, temporary: Path) -> None:
    path = path_without(absent)
    asked = subprocess.run(
        [*SHELLS[shell], "-c", f"command -v {absent}"], env={"PATH": path}, capture_output=True, check=False
    )
    if asked.returncode == 0:
        pytest.skip(f"this busybox has a {absent} of its own")
    done = run_one_file(shell, "--version", PATH=path, TMPDIR=str(temporary))
    told = f"perfcase-record: {absent} is missing, which unpacks this file: install it, or copy the folder recorder/ here\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", told)
    assert list(temporary.iterdir()) == []


@in_both_shells
def test_another_machine_is_told(shell: str, tmp_path: Path) -> None:
    path = path_without("uname")
    if (
        subprocess.run(
            [*SHELLS[shell], "-c", "command -v uname"], env={"PATH": path}, capture_output=True, check=False
        ).returncode
        == 0
    ):
        pytest.skip("this busybox has a uname of its own")
    (tmp_path / "uname").write_text("#!/bin/sh\necho riscv64\n")
    (tmp_path / "uname").chmod(0o755)
    done = run_one_file(shell, "--version", PATH=f"{tmp_path}:{path}")
    told = "perfcase-record: this file has no helper for riscv64: build it from the sources with 'make -C recorder'\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", told)


@in_both_shells
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_at_any_moment_leaves_nothing(
    shell: str, number: signal.Signals, tmp_path: Path, temporary: Path
) -> None:
    chosen = random.Random(shell + number.name)
    ends = set()
    for turn in range(scaled(60, 6)):
        process = subprocess.Popen(
            [*SHELLS[shell], one_file(), "--version"], env=environment(TMPDIR=str(temporary)), start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(chosen.uniform(0, 0.1))
        # Ctrl-C is for all of a terminal's processes, kill for one.
        (os.killpg if turn % 2 else os.kill)(process.pid, number)
        ends.add(process.wait(60))
        assert what_stays(temporary) == []
    assert ends <= {-number, 128 + number, 0}


@in_both_shells
@pytest.mark.parametrize("signals", [[signal.SIGKILL], [signal.SIGINT, signal.SIGTERM]], ids=["killed", "twice"])
def test_a_recording_that_was_left_is_salvaged(
    shell: str, signals: list[signal.Signals], tmp_path: Path, temporary: Path
) -> None:
    out = tmp_path / "x.perfcase"
    stubborn = "trap '' TERM INT; i=0; while [ $i -lt 40 ]; do sleep 0.1; i=$((i+1)); done"
    process = unpacking(shell, "-o", out, "--", "sh", "-c", stubborn, TMPDIR=str(temporary))
    end = time.monotonic() + 20
    while not (tmp_path / "x.perfcase.recording" / "manifest.json").exists() and time.monotonic() < end:
        time.sleep(0.02)
    for number in signals:
        time.sleep(0.5)
        # `timeout -k` kills the whole group.
        (os.killpg if number == signal.SIGKILL else os.kill)(process.pid, number)
    last = signals[-1]
    assert process.wait(30) == (-last if last == signal.SIGKILL else 128 + last)
    assert what_stays(temporary) == []
    assert not out.exists()
    process.communicate()
    done = run_one_file(shell, "--salvage", tmp_path / "x.perfcase.recording", TMPDIR=str(temporary))
    assert done.returncode == 0, done.stderr
    Capture.read(out).check()
    assert what_stays(temporary) == []


@in_both_shells
def test_sigint_is_heard_where_it_was_ignored(shell: str, tmp_path: Path, temporary: Path) -> None:
    ignoring = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh"]
    process = subprocess.Popen(
        [*ignoring, *SHELLS[shell], one_file(), "-o", tmp_path / "x.perfcase", "--", "sleep", "20"],
        env=environment(TMPDIR=str(temporary)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    end = time.monotonic() + 20
    while not (tmp_path / "x.perfcase.recording" / "manifest.json").exists() and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert (process.returncode, "stopped by SIGINT" in said) == (128 + signal.SIGINT, True), said
    assert what_stays(temporary) == []


@in_both_shells
@pytest.mark.parametrize("closed", ["<&-", "<&- >&- 2>&-"])
def test_with_closed_descriptors(shell: str, closed: str, tmp_path: Path, temporary: Path) -> None:
    """Each pipe would otherwise begin at the descriptor of a standard stream."""
    out = tmp_path / "x.perfcase"
    for words in (["--version"], ["-q", "-o", out, "--", "true"]):
        subprocess.run(
            ["sh", "-c", f'exec "$@" {closed}', "sh", *SHELLS[shell], one_file(), *words],
            env=environment(TMPDIR=str(temporary)), cwd=tmp_path, check=True, timeout=60,
        )  # fmt: skip
    Capture.read(out).check()
    assert what_stays(temporary) == []


@in_both_shells
@pytest.mark.parametrize("option", ["--version", "--help"])
def test_what_cannot_be_said_records_nothing(shell: str, option: str, tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*SHELLS[shell], RECORDER, option], cwd=tmp_path, stdout=full, stderr=full, timeout=20, check=False
        )
    assert (done.returncode, list(tmp_path.iterdir())) == (1, [])


def test_only_its_own_folder_is_removed(tmp_path: Path) -> None:
    keep = tmp_path / "keep"
    keep.mkdir()
    done = subprocess.run(
        [ROOT / "recorder" / "build" / "perfcase-helper", "unpacked", keep, "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, keep.is_dir()) == (1, True)
    assert "not the folder of this perfcase-helper" in done.stderr


def test_its_checksum_is_beside_it(tmp_path: Path) -> None:
    for name in ("perfcase-record", "perfcase-record.sha256"):
        shutil.copy(built() / name, tmp_path)
    check = ["sha256sum", "--check", "perfcase-record.sha256"]
    done = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "perfcase-record: OK\n"


def test_it_is_built_alike_elsewhere_and_later(tmp_path: Path) -> None:
    """Takes a second and a half for each compiler."""
    expected = {path.name: path.read_bytes() for path in built().glob("perfcase*")}
    elsewhere = tmp_path / "another folder"
    shutil.copytree(
        ROOT / "recorder", elsewhere / "recorder", ignore=shutil.ignore_patterns("build"), copy_function=shutil.copy
    )
    for name in ("Cargo.toml", "LICENSE", "scripts/recorder.sh"):
        (elsewhere / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, elsewhere / name)
    build = f"umask 077; exec sh '{elsewhere}/scripts/recorder.sh'"
    subprocess.run(
        ["sh", "-c", build], env={**os.environ, "TZ": "Asia/Tokyo", "LANG": "C.UTF-8"}, check=True, capture_output=True
    )
    made = {path.name: path.read_bytes() for path in (elsewhere / "recorder" / "build" / "dist").glob("perfcase*")}
    assert len(made) == 4
    assert sorted(made) == sorted(expected)
    assert [name for name in made if made[name] != expected[name]] == []
