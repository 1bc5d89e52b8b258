"""The conditions of a flight, each with its healthy twin; and which flight is asked for its capture."""

from __future__ import annotations

import fcntl
import os
import resource
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.recorder.support import helper, in_own_mounts

SILENT_S = 2.2  # three looks


@contextmanager
def watch(folder: Path, *conditions: str, rest_s: float = 0, limit_s: float = 20) -> Iterator[subprocess.Popen]:
    words = ["watch", folder, str(int(limit_s * 1e9)), "0", "0", "0"]
    words += ["flight", str(60 * 10**9), str(int(rest_s * 1e9)), folder / "begin", *conditions]
    with subprocess.Popen([helper(), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        end = time.monotonic() + 10
        while not (folder / "begin").exists() and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.1)
        try:
            yield process
        finally:
            process.kill()


def answer(process: subprocess.Popen) -> list[str]:
    said, errors = process.communicate(timeout=30)
    assert errors == ""
    return said.splitlines()


LEVELS = {
    "load>8": ("/proc/loadavg", "8.01 1.00 1.00 1/100 5\n", "8.00 99.00 99.00 1/100 5\n", "8.01"),
    "runnable>16": ("/proc/stat", "cpu 1\nprocs_running 17\nprocs_blocked 99\n", "procs_running 16\n", "17.00"),
    "cpu-pressure>50": (
        "/proc/pressure/cpu",
        "some avg10=50.50 avg60=0.00\n",
        "some avg10=49.00 avg60=99.00\n",
        "50.50",
    ),
    "io-pressure>5": (
        "/proc/pressure/io",
        "some avg10=9.00 avg60=0.00\n",
        "some avg10=1.00\nfull avg10=99.00\n",
        "9.00",
    ),
    "memory-pressure>0.5": ("/proc/pressure/memory", "some avg10=0.51\n", "some avg10=0.50\n", "0.51"),
}


@pytest.mark.skipif(os.geteuid() != 0, reason="a mount namespace needs root")
@pytest.mark.parametrize("condition", LEVELS)
def test_a_number_that_is_too_high(condition: str, tmp_path: Path) -> None:
    file, bad, healthy, seen = LEVELS[condition]
    script = (
        'mount --bind "$1" "$2" || exit 99; '
        '"$3" watch "$4" "$5" 0 0 0 flight 60000000000 0 "$4/begin" "$6"'
    )  # fmt: skip
    said = []
    for text, seconds in ((bad, 20), (healthy, SILENT_S)):
        (tmp_path / "fake").write_text(text)
        words = [tmp_path / "fake", file, helper(), tmp_path, str(int(seconds * 1e9)), condition]
        said.append(in_own_mounts(script, *words, timeout=30).stdout.splitlines())
    assert said == [["trigger", f"{condition} ({seen})"], ["duration"]]


def test_it_has_to_last_and_counts_once(tmp_path: Path) -> None:
    began = time.monotonic()
    with watch(tmp_path, "runnable>0 for 2s") as process:
        assert answer(process)[0] == "trigger"
    assert 2 <= time.monotonic() - began < 6
    # What holds since before the flight has its capture.
    with watch(tmp_path, "runnable>0", rest_s=0.1, limit_s=SILENT_S) as process:
        assert answer(process) == ["duration"]


def append(file: Path, text: str) -> None:
    with file.open("a") as out:
        out.write(text)


def test_a_line_in_a_log(tmp_path: Path) -> None:
    log = tmp_path / "a 'log'"
    log.write_text("ERROR 1 before\n")
    condition = f"log:{log}:ERROR 1"
    with watch(tmp_path, condition, limit_s=SILENT_S) as process:
        append(log, "ERROR 2\nERROR\n 1\nerror 1\n")
        assert answer(process) == ["duration"]
    with watch(tmp_path, condition) as process:
        append(log, "x" * 70000 + "ERR")
        time.sleep(1.2)
        append(log, "OR 1")
        assert answer(process) == ["trigger", condition]
    # Rotated: the last line of the old file, and the first one of the new.
    for rest in ("old", "new"):
        log.write_text("")
        with watch(tmp_path, condition) as process:
            append(log, "ERROR 1\n" if rest == "old" else "fine\n")
            log.rename(tmp_path / f"log.{rest}")
            append(log, "ERROR 1\n" if rest == "new" else "fine\n")
            assert answer(process) == ["trigger", condition]
    # Emptied in place.
    log.write_text("long\n" * 1000)
    with watch(tmp_path, condition) as process:
        log.write_text("ERROR 1\n")
        assert answer(process) == ["trigger", condition]


def test_a_log_that_rests_is_not_heard(tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    with watch(tmp_path, f"log:{tmp_path}/log:x", rest_s=2, limit_s=4.5) as process:
        append(tmp_path / "log", "x\n")
        assert answer(process) == ["duration"]


def test_a_hostile_log(tmp_path: Path) -> None:
    """A pipe, a folder, a device and a loop of links in its place are not opened; a huge one costs a bounded look."""
    before_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    log = tmp_path / "log"
    log.touch()
    with watch(tmp_path, f"log:{log}:x", limit_s=6) as process:
        for make in (
            os.mkfifo,
            os.mkdir,
            lambda path: path.symlink_to("/dev/zero"),
            lambda path: path.symlink_to(path),
        ):
            if log.is_dir():
                log.rmdir()
            else:
                log.unlink()
            make(log)
            time.sleep(1.1)
            opened = [str(link.readlink()) for link in Path(f"/proc/{process.pid}/fd").iterdir()]
            assert str(log) not in opened
            assert "/dev/zero" not in opened
        assert answer(process) == ["duration"]
    log.unlink()
    log.touch()
    (tmp_path / "recording").mkdir()
    with watch(tmp_path / "recording", f"log:{log}:x", limit_s=4) as process:
        os.truncate(log, 1 << 40)
        said, errors = process.communicate(timeout=20)
    assert said == "duration\n"
    assert "log: grows faster than it is searched: 10" in errors
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before_s < 1


@contextmanager
def server(reply: bytes, wait_s: float = 0) -> Iterator[tuple[int, list[bytes]]]:
    """Answers each connection with these bytes after a time."""
    asked: list[bytes] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                asked.append(connection.recv(4096))
                time.sleep(wait_s)
                try:
                    connection.sendall(reply)
                except OSError:
                    continue

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listening.getsockname()[1], asked
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()


HEALTHY = b"HTTP/1.1 204 No Content\r\n\r\n"
SERVERS = {
    "healthy": (HEALTHY, 0, None),
    "slow enough": (HEALTHY, 0.2, None),
    "too slow": (HEALTHY, 2, "no answer within 1000 ms"),
    "failing": (b"HTTP/1.0 503 Not now\r\n\r\n", 0, "answered 503"),
    "not HTTP": (b"SSH-2.0-OpenSSH_9.2\r\n", 0, "answered with something else than HTTP"),
    "closing": (b"", 0, "answered with something else than HTTP"),
}


@pytest.mark.parametrize("name", SERVERS)
def test_a_server(name: str, tmp_path: Path) -> None:
    reply, wait_s, seen = SERVERS[name]
    with server(reply, wait_s) as (port, asked):
        condition = f"http://127.0.0.1:{port}/health?a=b>1s"
        with watch(tmp_path, condition, limit_s=20 if seen else SILENT_S) as process:
            assert answer(process) == (["trigger", f"{condition} ({seen})"] if seen else ["duration"])
    assert asked[0].startswith(f"GET /health?a=b HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n".encode())
    assert asked[0].endswith(b"\r\n\r\n")
    if not seen:
        assert 2 <= len(asked) <= 4  # once a second


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with watch(tmp_path, f"http://localhost:{port}>500ms") as process:
        assert answer(process) == ["trigger", f"http://localhost:{port}>500ms (Connection refused)"]


def test_a_process_that_was_killed_for_memory(tmp_path: Path) -> None:
    group = tmp_path / "a group"
    group.mkdir()
    events = group / "memory.events"
    events.write_text("low 0\nhigh 3\nmax 9\noom 1\noom_kill 2\noom_group_kill 0\n")
    with watch(tmp_path, f"oom:{group}", limit_s=SILENT_S) as process:
        events.write_text("low 1\nhigh 4\nmax 10\noom 2\noom_kill 2\noom_group_kill 1\n")
        assert answer(process) == ["duration"]
    with watch(tmp_path, f"oom:{group}") as process:
        events.write_text("low 1\nhigh 4\nmax 10\noom 2\noom_kill 3\noom_group_kill 1\n")
        assert answer(process) == ["trigger", f"oom:{group}"]
    # A group that was made again counts from 0.
    with watch(tmp_path, f"oom:{group}") as process:
        events.write_text("oom 0\noom_kill 0\n")
        time.sleep(1.2)
        events.write_text("oom 1\noom_kill 1\n")
        assert answer(process) == ["trigger", f"oom:{group}"]
    with watch(tmp_path, "oom:/", limit_s=SILENT_S) as process:
        assert answer(process) == ["duration"]


# --- which flight


@contextmanager
def announced(folder: Path, process: subprocess.Popen, output: str) -> Iterator[Path]:
    file = folder / f"flight-{process.pid}"
    subprocess.run([helper(), "announce", file, str(process.pid), output], check=True)
    with file.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield file


def dump(folder: Path, *which: str) -> tuple[int, str, list[str]]:
    done = subprocess.run([helper(), "dump", folder, *which], capture_output=True, text=True, check=False, timeout=20)
    return done.returncode, done.stdout, [line.removeprefix("perfcase-helper: ") for line in done.stderr.splitlines()]


NONE = "no flight of this user is running: perfcase-record --flight 60s begins one"


@contextmanager
def answering(state: Path, name: str) -> Iterator[subprocess.Popen]:
    """Stands for a flight: writes its capture's name on SIGUSR1."""
    state.parent.mkdir(mode=0o700, exist_ok=True)
    script = (
        "import os, signal, sys\n"
        "def on(*_):\n"
        "    open(sys.argv[1] + '.new', 'w').write('wrote 8 trigger\\n' + sys.argv[2] + '\\n')\n"
        "    os.rename(sys.argv[1] + '.new', sys.argv[1])\n"
        "signal.signal(signal.SIGUSR1, on)\n"
        "print(flush=True)\n"
        "while True: signal.pause()\n"
    )
    with subprocess.Popen(["python3", "-c", script, state, name], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


def test_the_flight_that_runs_is_asked(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert dump(folder) == (1, "", [NONE])
    state = folder / "state"
    with (
        answering(state, "/x/a capture\nin two lines.perfcase") as process,
        announced(folder, process, "/x/web") as file,
    ):
        other = folder / f"flight-{process.pid}.state"
        assert dump(folder)[2] == [f"flight {process.pid} is only beginning: try again in a few seconds"]
        state.write_text("recording 7 \n/x/before.perfcase\n")
        other.symlink_to(state)
        assert dump(folder) == (0, "/x/a capture\nin two lines.perfcase\n", [])
        # By its number, and by its name.
        for which in (str(process.pid), "/x/web", "/x/web.perfcase"):
            state.write_text("recording 7 \n")
            assert dump(folder, which)[0] == 0
        code, _, said = dump(folder, "/x/we")
        assert (code, said[1:]) == (2, [f"{process.pid} /x/web"])
        with subprocess.Popen(["sleep", "60"]) as sleeper, announced(folder, sleeper, "/x/db"):
            code, _, said = dump(folder)
            assert code == 2
            assert said[0] == "several flights run; these run (--dump PID or --dump FILE chooses one):"
            assert sorted(said[1:]) == sorted([f"{process.pid} /x/web", f"{sleeper.pid} /x/db"])
            sleeper.kill()
        assert file.exists()
    assert dump(folder) == (1, "", [NONE])
    assert not file.exists()


def test_what_is_stale_or_another_users_is_no_flight(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        try:
            # Not locked: its flight is gone, although a process has its number.
            stale = folder / f"flight-{sleeper.pid}"
            stale.write_text(f"{sleeper.pid} 1\n/x/y")
            stale.chmod(0o600)
            assert dump(folder) == (1, "", [NONE])
            assert not stale.exists()
            # Locked, but another process has its number by now.
            stale.write_text(f"{sleeper.pid} 1\n/x/y")
            stale.chmod(0o600)
            with stale.open() as held:
                fcntl.flock(held, fcntl.LOCK_EX)
                assert dump(folder) == (1, "", [NONE])
            stale.unlink()
            # A link, a pipe, a file that others may write, a file that says nothing.
            (folder / "flight-1").symlink_to("/etc/passwd")
            os.mkfifo(folder / "flight-2", 0o600)
            (folder / "flight-3").write_text("")
            (folder / "flight-4").write_text("4 4\n")
            (folder / "flight-4").chmod(0o666)
            assert dump(folder) == (1, "", [NONE])
            folder.chmod(0o777)
            assert dump(folder) == (1, "", [f"{folder} is not a folder of this user's alone"])
            assert sleeper.poll() is None
        finally:
            sleeper.kill()
