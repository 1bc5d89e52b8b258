"""perfcase-helper: what can be checked against Python's own libraries."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tarfile
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest

from tests.recorder.support import ROOT, helper, parts


def call(*words: str | bytes | Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([helper(), *words], capture_output=True, check=False, timeout=60)


@pytest.mark.parametrize("length", [0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 1000, 262144, 262145, 3_000_001])
def test_sha256(length: int, tmp_path: Path) -> None:
    data = os.urandom(length)
    (tmp_path / "x").write_bytes(data)
    told = subprocess.run([parts(), "sha256", tmp_path / "x"], capture_output=True, text=True, check=True).stdout
    assert told == f"{hashlib.sha256(data).hexdigest()}\n"


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("seconds", "30", 30_000_000_000), ("seconds", "0.5", 500_000_000), ("seconds", "1.000000001", 1_000_000_001),
        ("seconds", "5s", 5_000_000_000), ("seconds", "", None), ("seconds", ".", None), ("seconds", "-1", None),
        ("seconds", "1e3", None), ("seconds", "99999999999999", None),
        ("size", "200M", 200 << 20), ("size", "1k", 1024), ("size", "2GiB", 2 << 30), ("size", "7", 7),
        ("size", "M", None), ("size", "5X", None), ("size", "99999999999999T", None),
        ("integer", "9223372036854775808", None),
    ],
)  # fmt: skip
def test_numbers(kind: str, text: str, value: int | None) -> None:
    done = call("number", kind, text)
    assert (done.returncode, done.stdout) == ((0, f"{value}\n".encode()) if value is not None else (1, b""))


def test_a_command_to_which_a_file_is_empty(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("full")
    done = call("without", file, "sh", "-c", 'cat "$1"; exit 7', "sh", file)
    alone = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0
    assert (done.returncode, done.stdout, file.read_text()) == (7, b"" if alone else b"full", "full")
    assert call("without", tmp_path / "absent", "echo", "x").stdout == b"x\n"
    assert call("without", file, tmp_path / "absent").returncode == 127


@pytest.mark.parametrize("text", ["", 'a "b" \\ /', "\n\t\x01\x7f", "ü€😀", "\u2028"])
def test_json_keeps_text(text: str) -> None:
    assert json.loads(call("json", "string", text).stdout) == text
    assert json.loads(call("json", "array", text, "x").stdout) == [text, "x"]


@pytest.mark.parametrize("text", [b"\xff", b"a\xc3", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe2\x82z"])
def test_json_of_bytes_that_are_not_utf8_is_still_json(text: bytes) -> None:
    assert "\ufffd" in json.loads(call("json", "string", text).stdout)


def test_pack_is_ustar_with_the_manifest_first_and_small_members_before_large(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    deep = "host/" + "/".join(["directory-name-of-some-length"] * 4) + "/file"
    contents = {
        "manifest.json": b"{}" * 500,
        "z/empty": b"",
        "a/large": os.urandom(100_000),
        "m/small": b"x" * 512,
        deep: b"deep",
    }
    for name, data in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    (folder / ".state").mkdir()
    (folder / ".state" / "x").write_bytes(b"not a member")
    done = call("pack", folder)
    assert done.returncode == 0
    data = done.stdout
    (tmp_path / "out").write_bytes(data)
    assert data[257:265] == b"ustar\x0000"
    with tarfile.open(tmp_path / "out", "r:") as archive:
        assert archive.getnames() == ["manifest.json", "z/empty", deep, "m/small", "a/large"]
        assert {name: archive.extractfile(name).read() for name in archive.getnames()} == contents
    assert subprocess.run(["tar", "tf", tmp_path / "out"], capture_output=True, check=True).stderr == b""


def test_pack_writes_sizes_above_8_gib_in_base_256(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "manifest.json").write_bytes(b"{}")
    size = (8 << 30) + 12345
    with (folder / "big").open("wb") as file:
        file.truncate(size)
    packing = subprocess.Popen([helper(), "pack", folder], stdout=subprocess.PIPE)
    assert packing.stdout
    with packing.stdout as pipe:
        head = pipe.read(3 * 512)
    packing.wait(timeout=60)
    header = tarfile.TarInfo.frombuf(head[1024:], "utf-8", "strict")
    assert (header.name, header.size) == ("big", size)


def test_pack_without_a_manifest_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    done = call("pack", tmp_path / "in")
    assert done.returncode == 1
    assert b"has no manifest.json" in done.stderr


def test_clocks_are_of_one_moment() -> None:
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    monotonic, realtime, boottime = map(int, call("clocks").stdout.split())
    assert before <= monotonic <= time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    now = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    assert abs(realtime - monotonic - now) < 1_000_000
    assert boottime >= monotonic


def test_stamp_finds_the_moment_that_intervals_count_from(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen([helper(), "stamp", tmp_path / "pipe", tmp_path / "out", tmp_path / "zero"])
    zero = time.clock_gettime_ns(time.CLOCK_MONOTONIC) - 5_000_000_000
    lines = ["# started on Sat\n", "\n"]
    with (tmp_path / "pipe").open("w", buffering=1) as pipe:
        pipe.writelines(lines)
        for delay in [0.02, *[0.0] * 30, 0.01]:
            at = time.clock_gettime_ns(time.CLOCK_MONOTONIC) - zero
            lines.append(f"{at // 1_000_000_000:6d}.{at % 1_000_000_000:09d},1,,context-switches,1,100.00,,\n")
            time.sleep(delay)  # the line comes late
            pipe.write(lines[-1])
            time.sleep(0.01)
    assert reader.wait(10) == 0
    assert (tmp_path / "out").read_text() == "".join(lines)
    # the least delay of all lines counts: a busy machine delays some, not each
    assert 0 <= int((tmp_path / "zero").read_text()) - zero < 5_000_000


def test_run_saves_what_a_child_cost(tmp_path: Path) -> None:
    cost, log, pid = tmp_path / "cost", tmp_path / "log", tmp_path / "pid"
    burn = "x = 0\nfor i in range(3_000_000): x += i\nprint('done')"
    done = call("run", "burn", cost, log, pid, "", "python3", "-c", burn)
    assert done.returncode == 0
    values = dict(line.split("=", 1) for line in cost.read_text().splitlines())
    assert values["process"] == "burn"
    assert values["pid"] == pid.read_text().strip()
    assert int(values["user_ns"]) > 20_000_000
    assert int(values["max_rss_bytes"]) > 2_000_000
    assert log.read_text() == "done\n"


def test_run_hands_a_signal_on_as_sigint(tmp_path: Path) -> None:
    program = (
        "import signal, sys\n"
        "signal.signal(signal.SIGINT, lambda *a: sys.exit(9))\n"
        "print('up', flush=True)\n"
        "signal.pause()"
    )
    log = tmp_path / "log"
    child = subprocess.Popen(
        [helper(), "run", "x", tmp_path / "cost", log, tmp_path / "pid", "", "python3", "-c", program]
    )
    while not log.exists() or "up" not in log.read_text():
        time.sleep(0.01)
    threading.Timer(0.1, child.terminate).start()
    assert child.wait(10) == 9
    assert "exit_status=9" in (tmp_path / "cost").read_text()


@pytest.mark.parametrize("reaped", [True, False])
def test_a_tool_ends_whose_recorder_was_killed_before_it_began(reaped: bool, tmp_path: Path) -> None:
    """The kernel signals the end of a parent only to who asked before. Not reaped, the recorder still has its entry in /proc."""
    os.mkfifo(tmp_path / "go")
    gone = subprocess.Popen(["true"])
    os.waitid(os.P_PID, gone.pid, os.WEXITED | (0 if reaped else os.WNOWAIT))
    for words in (
        ["run", "x", tmp_path / "cost", tmp_path / "log", tmp_path / "pid", "", "sleep", "30"],
        ["hold", tmp_path / "go", "22", "0", str(os.getpid()), "sleep", "30"],
        ["tied", "sleep", "30"],
    ):
        done = subprocess.run(
            [helper(), *words],
            env={**os.environ, "PERFCASE_RECORDER": str(gone.pid)},
            check=False,
            timeout=5,
            capture_output=True,
        )
        assert done.returncode in {-15, 143}
    gone.wait()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a PID namespace")
def test_a_proc_of_another_namespace_tells_nothing_of_the_recorder() -> None:
    """Process 1 of a namespace whose /proc is that of the host: its recorder's number is another process there, or none."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    words = ["unshare", "--pid", "--fork", helper(), "tied", "echo", "it runs"]
    environ = {**os.environ, "PERFCASE_RECORDER": str(gone.pid)}
    done = subprocess.run(words, env=environ, check=False, timeout=10, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "it runs\n"), done.stderr


def test_a_snapshot_file_that_is_absent_is_an_entry(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("# comment\nsystem /proc/loadavg\nsystem /no/such/file\nthread comm\n")
    out = tmp_path / "out"
    sampler = subprocess.Popen([helper(), "sample", tmp_path / "list", out, "1000000000", str(os.getpid())])
    while not out.exists() or b"\nZ " not in out.read_bytes():
        time.sleep(0.01)
    sampler.terminate()
    assert sampler.wait(10) == 0
    text = out.read_bytes()
    assert b" 2 /no/such/file\n" in text, "errno 2"
    comm = (Path("/proc/self/comm")).read_bytes()
    assert b" %d /proc/%d/task/%d/comm\n%s\n" % (len(comm), os.getpid(), os.getpid(), comm) in text
    assert text.count(b"\nZ ") == 2, "one at the start, one at the end"


def test_the_helper_needs_no_library() -> None:
    assert subprocess.run(["ldd", helper()], capture_output=True, check=False).returncode != 0
    assert len(list((ROOT / "recorder" / "src").glob("*.c"))) > 5


def sampled_files(stream: bytes) -> list[dict[str, bytes]]:
    """Paths and contents of each snapshot."""
    found: list[dict[str, bytes]] = []
    at = 0
    while at < len(stream):
        end = stream.index(b"\n", at)
        words = stream[at:end].decode().split(" ", 3)
        at = end + 1
        if words[0] == "S":
            found.append({})
        elif words[0] == "F":
            found[-1][words[3]] = stream[at : at + int(words[2])]
            at += int(words[2]) + 1
            assert stream[at - 1 : at] == b"\n"
    return found


def test_of_threads_that_do_not_run_the_sampler_copies_less(tmp_path: Path) -> None:
    stop = threading.Event()

    def work(pause_s: float) -> None:
        while not stop.wait(pause_s):
            pass

    idle, busy = (threading.Thread(target=work, args=(pause_s,)) for pause_s in (600, 0.005))
    for thread in (idle, busy):
        thread.start()
    time.sleep(0.1)
    (tmp_path / "list").write_text("thread stat\nthread status\nthread schedstat\nthread absent\n")
    sampler = subprocess.Popen([helper(), "sample", tmp_path / "list", tmp_path / "out", "200000000", str(os.getpid())])
    time.sleep(1.1)
    late = threading.Thread(target=work, args=(600,))
    late.start()
    time.sleep(0.5)
    sampler.terminate()
    assert sampler.wait(10) == 0
    stop.set()
    for thread in (idle, busy, late):
        thread.join()
    stream = (tmp_path / "out").read_bytes()
    # "absent" is not there: lines of errors, and no bytes.
    assert f" 2 /proc/{os.getpid()}/task/{busy.native_id}/absent\n".encode() in stream
    snapshots = sampled_files(stream)
    assert len(snapshots) >= 4

    def seen(thread_id: int, name: str) -> list[bool]:
        return [f"/proc/{os.getpid()}/task/{thread_id}/{name}" in paths for paths in snapshots]

    for thread in (idle, busy):
        assert all(seen(thread.native_id, "schedstat"))
    assert seen(idle.native_id, "status") == [True] + [False] * (len(snapshots) - 1)
    # Others may wake it: its state is looked at in each fourth snapshot.
    looks = [number for number, is_seen in enumerate(seen(idle.native_id, "stat")) if is_seen]
    assert looks[0] == 0
    assert 1 <= looks[1] <= 4
    assert all(after - before == 4 for before, after in pairwise(looks[1:]))
    # On a loaded machine two snapshots may lie so close that even the busy one has not run in between.
    ran = [paths[f"/proc/{os.getpid()}/task/{busy.native_id}/schedstat"] for paths in snapshots]
    for name in ("stat", "status"):
        copied = seen(busy.native_id, name)
        assert copied[0]
        assert all(
            is_copied for is_copied, (before, after) in zip(copied[1:], pairwise(ran), strict=True) if before != after
        )
    assert len(set(ran)) > 2
    assert all(seen(os.getpid(), "status"))
    # A thread that begins in between is copied whole when it is first seen.
    first = seen(late.native_id, "stat").index(True)
    assert first > 0
    assert seen(late.native_id, "status")[first]


def test_without_schedstat_the_sampler_copies_everything(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("thread status\nthread stat\n")
    sampler = subprocess.Popen([helper(), "sample", tmp_path / "list", tmp_path / "out", "100000000", str(os.getpid())])
    time.sleep(0.5)
    sampler.terminate()
    assert sampler.wait(10) == 0
    for paths in sampled_files((tmp_path / "out").read_bytes()):
        assert len({path for path in paths if path.endswith("/status")}) == len(paths) // 2


def test_the_sampler_copies_control_groups_and_what_does_not_change(tmp_path: Path) -> None:
    (tmp_path / "list").write_text(
        "system /proc/loadavg\nonce /proc/version\ncgroup cpu.stat\ncgroup memory.stat\ncgroup absent.stat\n"
    )
    sampler = subprocess.Popen([helper(), "sample", tmp_path / "list", tmp_path / "out", "100000000", str(os.getpid())])
    time.sleep(0.5)
    sampler.terminate()
    assert sampler.wait(10) == 0
    stream = (tmp_path / "out").read_bytes()
    snapshots = sampled_files(stream)
    assert ["/proc/version" in paths for paths in snapshots] == [True] + [False] * (len(snapshots) - 2) + [True]
    # The groups of this process and those above, of version 1 and 2, as the kernel says.
    wanted = set()
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers:
            root = Path("/sys/fs/cgroup", controllers)
        else:
            root = Path("/sys/fs/cgroup")
            root = root if (root / "cgroup.controllers").exists() else root / "unified"
        group = Path(f"{root}{path}")
        for folder in (group, *group.parents):
            if folder == root or root in folder.parents:
                wanted |= {str(folder / name) for name in ("cpu.stat", "memory.stat") if (folder / name).exists()}
    for paths in snapshots:
        assert {path for path in paths if path.startswith("/sys/fs/cgroup")} == wanted
    assert wanted, "this machine has no control groups"
    assert b"\nE " not in stream


def test_the_sampler_sees_threads_that_take_the_place_of_others(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("thread stat\nthread schedstat\n")
    out = tmp_path / "out"
    sampler = subprocess.Popen([helper(), "sample", tmp_path / "list", out, "50000000", str(os.getpid())])
    alive: list[tuple[threading.Thread, threading.Event]] = []
    numbers = set()
    for _ in range(8):
        # One begins, one ends: as many as before.
        stop = threading.Event()
        thread = threading.Thread(target=stop.wait)
        thread.start()
        numbers.add(thread.native_id)
        alive.append((thread, stop))
        if len(alive) > 2:
            oldest, end = alive.pop(0)
            end.set()
            oldest.join()
        time.sleep(0.15)
    sampler.terminate()
    assert sampler.wait(10) == 0
    for thread, stop in alive:
        stop.set()
        thread.join()
    seen: set[str] = set().union(*sampled_files(out.read_bytes()))
    assert {f"/proc/{os.getpid()}/task/{number}/stat" for number in numbers} <= seen
