"""How full file systems are: what statfs says of those of the host, and no others are asked. One that hangs holds nothing up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perfcase.case import query, store
from tests.recorder.support import Snapshot, helper, in_own_mounts, parse_snapshots, run

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")

LIST = "/perfcase/file_systems"
LEFT_OUT = "/perfcase/file_systems/left_out"
SAMPLE = 'timeout -s TERM 0.3 "$1" sample "$2/list" "$2/out" 100000000 1; test -s "$2/out"'

# A FUSE file system that answers what an overlay asks when it is mounted on it, and then nothing more.
HANGING = """
import ctypes, os, select, struct, subprocess, sys, threading

folder, words = sys.argv[1], sys.argv[2:]
libc = ctypes.CDLL(None, use_errno=True)
fuse = os.open("/dev/fuse", os.O_RDWR)
is_over = is_gone = False

def mount(source, target, kind, data):
    if libc.mount(source.encode(), target.encode(), kind.encode(), 0, data.encode()):
        os._exit(99)

def find(words):
    found = subprocess.run(["pgrep", "-f", "^" + " ".join(words[:3])], capture_output=True, text=True)
    return found.stdout.strip()

def answer():
    while not is_gone:
        if not select.select([fuse], [], [], 0.02)[0]:
            continue
        request = os.read(fuse, 1 << 17)
        _, opcode, unique = struct.unpack_from("=IIQ", request)
        if is_over or opcode in (2, 36, 42):  # FORGET, INTERRUPT, BATCH_FORGET
            continue
        error, body = 0, b""
        if opcode == 26:  # INIT
            body = struct.pack("=IIIIHHIIHHI7I", 7, 31, 0, 0, 8, 8, 4096, 1, 1, 0, 0, *[0] * 7)
        elif opcode == 3:  # GETATTR
            body = struct.pack("=QII6Q10I", 100, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0o40755, 2, 0, 0, 0, 4096, 0)
        elif opcode == 17:  # STATFS
            body = struct.pack("=5Q10I", 100, 50, 50, 10, 5, 4096, 255, 4096, 0, *[0] * 6)
        else:
            error = -38
        os.write(fuse, struct.pack("=IiQ", 16 + len(body), error, unique) + body)

for name in ("fuse", "lower", "over", "after"):
    os.mkdir(f"{folder}/{name}")
mount("t", f"{folder}/lower", "tmpfs", "")
mount("f", f"{folder}/fuse", "fuse", f"fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other")
server = threading.Thread(target=answer)
server.start()
mount("o", f"{folder}/over", "overlay", f"lowerdir={folder}/fuse:{folder}/lower")
mount("t", f"{folder}/after", "tmpfs", "size=1m")
is_over = True
sampler = subprocess.Popen(words)
# The first snapshot is whole.
while not os.path.exists(f"{folder}/out") or b"\\nZ " not in open(f"{folder}/out", "rb").read():
    if sampler.poll() is not None:
        break
sampler.terminate()
status = sampler.wait()
# The kernel does not end the child before, but it has nothing of the recorder's open.
asker = find(words)
print(*sorted(os.listdir(f"/proc/{asker}/fd")), "|", os.readlink(f"/proc/{asker}/fd/1"), flush=True)
is_gone = True
server.join()
os.close(fuse)
while find(words):
    pass
os._exit(status)
"""


def sampled(folder: Path) -> list[Snapshot]:
    return parse_snapshots((folder / "out").read_bytes())


def words(snapshot: Snapshot) -> dict[str, list[str]]:
    """What is said of each mount point."""
    lines = snapshot.files[LIST].decode().splitlines()
    return {line.split(" ")[9]: line.split(" ") for line in lines}


def test_what_statfs_says(tmp_path: Path) -> None:
    """A tmpfs with a limit of blocks and inodes, a name with a space, a mount on another one, the same one in two places."""
    (tmp_path / "list").write_text(f"once {LIST}\n")
    for name in ("a b", "twice", "again", "ro"):
        (tmp_path / name).mkdir()
    script = """
        cd "$2" || exit 99
        mount -t tmpfs -o size=1m,nr_inodes=50 full 'a b' || exit 99
        head -c 500000 /dev/zero >'a b/file'
        mount -t tmpfs hidden twice && mount -t tmpfs -o size=2m top twice && mount --bind twice again || exit 99
        mount -t tmpfs -o ro read-only ro || exit 99
        stat -f -c '%S %b %f %a %c %d' 'a b' >said
        """
    done = in_own_mounts(script + SAMPLE, helper(), tmp_path, timeout=60)
    assert done.returncode == 0, done.stderr
    first, *others = sampled(tmp_path)
    found = words(first)
    assert words(others[-1]).keys() == found.keys()
    assert [LIST in snapshot.files for snapshot in others[:-1]] == [False] * (len(others) - 1)
    full = found[f"{tmp_path}/a\\040b"]
    assert full[:2] + full[8:9] == ["tmpfs", "rw", "full"]
    assert full[2:8] == (tmp_path / "said").read_text().split()
    assert found[f"{tmp_path}/ro"][1] == "ro"
    # The top one of two on a folder is there, once.
    assert found[f"{tmp_path}/twice"][8] == "top"
    assert f"{tmp_path}/again" not in found
    assert "hidden" not in {said[8] for said in found.values()}
    assert {said[0] for said in found.values()} & {"proc", "sysfs", "devtmpfs"} == set()


def test_a_network_or_a_program_is_not_asked(tmp_path: Path) -> None:
    """A FUSE file system whose program answers nothing: a question to it never ends."""
    (tmp_path / "list").write_text(f"once {LIST}\n")
    (tmp_path / "fuse").mkdir()
    script = """
        exec 9<>/dev/fuse || exit 99
        mount -i -t fuse -o fd=9,rootmode=40000,user_id=0,group_id=0 nobody "$2/fuse" || exit 99
        """
    done = in_own_mounts(script + SAMPLE, helper(), tmp_path, timeout=60)
    assert done.returncode == 0, done.stderr
    first = sampled(tmp_path)[0]
    assert f"{tmp_path}/fuse" not in words(first)
    assert "/" in words(first)
    counts = dict(line.split() for line in first.files[LEFT_OUT].decode().splitlines())
    assert int(counts["foreign_count"]) >= 1
    assert (counts["surplus_count"], counts["silent_count"]) == ("0", "0")


def test_one_that_hangs_is_given_up(tmp_path: Path) -> None:
    """What was said before it is kept, it is not asked again, and the child that asked ends with the wait."""
    (tmp_path / "list").write_text(f"once {LIST}\nsystem /proc/loadavg\n")
    command = [helper(), "sample", tmp_path / "list", tmp_path / "out", "100000000", "1"]
    python = [sys.executable, "-c", HANGING, tmp_path, *command]
    done = in_own_mounts('exec "$@"', *python, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0 1 2 3 | /dev/null\n"
    first, *_, last = sampled(tmp_path)
    assert "/" in words(first)
    assert f"{tmp_path}/over" not in words(first)
    counts = dict(line.split() for line in first.files[LEFT_OUT].decode().splitlines())
    assert int(counts["silent_count"]) >= 2
    assert last.errors == {LIST: 110}
    assert "/proc/loadavg" in last.files


def test_a_host_with_many(tmp_path: Path) -> None:
    """128 are asked, and the others counted."""
    (tmp_path / "list").write_text(f"once {LIST}\n")
    script = 'for i in $(seq 140); do mkdir "$2/$i" && mount -t tmpfs x "$2/$i" || exit 99; done\n'
    done = in_own_mounts(script + SAMPLE, helper(), tmp_path, timeout=60)
    assert done.returncode == 0, done.stderr
    first = sampled(tmp_path)[0]
    assert len(words(first)) == 128
    counts = dict(line.split() for line in first.files[LEFT_OUT].decode().splitlines())
    assert int(counts["surplus_count"]) >= 12


def test_the_recorder_has_them(tmp_path: Path) -> None:
    """Both ends of a recording, in the view."""
    done = run("dash", "-q", "-o", tmp_path / "x.perfcase", "--", "sleep", "0.1")
    assert done.returncode == 0, done.stderr
    size = os.statvfs("/")
    with query.connect(store.open_case(tmp_path / "x.perfcase", tmp_path / "x.case").folder) as connection:
        asked = (
            "SELECT count(*), min(total_bytes), max(total_bytes), bool_and(used_ratio BETWEEN 0 AND 1) FROM file_system"
        )
        rows = connection.execute(f"{asked} WHERE mount_point = '/'").fetchall()
        known = connection.execute("SELECT DISTINCT limited FROM limit_use WHERE cgroup IS NULL").fetchall()
    if rows[0][0]:  # not where / is of a network
        assert rows == [(2, size.f_blocks * size.f_frsize, size.f_blocks * size.f_frsize, True)]
    assert {"memory", "open files", "processes and threads", "TCP memory", "orphaned TCP sockets"} <= {
        name for (name,) in known
    }


def test_no_child_is_left(tmp_path: Path) -> None:
    (tmp_path / "list").write_text(f"once {LIST}\n")
    sampler = subprocess.Popen([helper(), "sample", tmp_path / "list", tmp_path / "out", "20000000", "1"])
    while not (tmp_path / "out").is_file() or (tmp_path / "out").read_bytes().count(b"\nZ ") < 3:
        assert sampler.poll() is None
    children = Path(f"/proc/{sampler.pid}/task/{sampler.pid}/children").read_text()
    sampler.terminate()
    assert sampler.wait(20) == 0
    assert children == ""
