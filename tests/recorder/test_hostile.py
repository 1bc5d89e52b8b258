"""perfcase-helper with sanitizers, on damaged recordings, a hostile /proc and arguments from anywhere: it runs as root."""

from __future__ import annotations

import lzma
import os
import random
import re
import subprocess
from functools import cache
from pathlib import Path

from tests.recorder.support import ROOT, in_own_mounts
from tests.support.alone import alone
from tests.support.scale import scaled

CAPTURES = ROOT / "tests" / "data" / "captures" / "x86_64"
EDGES = (0, 1, 0xFF, 0x7FFFFFFF, 0xFFFFFFF8, 0xFFFFFFFF, 1 << 32, (1 << 63) - 1, (1 << 64) - 1)
# What a process that ends holds is the kernel's to free.
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}
# All that is left out removes, ends, waits for or writes what the arguments name.
COMMANDS = (
    "cut-perf", "counting", "count", "details", "dump", "events", "identity", "json", "members", "number", "plain",
    "ping", "ready", "room", "sample", "sizes", "sources", "stamp", "symbols", "targets", "token",
)  # fmt: skip
# No path of the machine is among them.
WORDS = (
    "", "-", "-1", "0", "1", "5s", "9" * 40, str((1 << 63) - 1), str((1 << 64) - 1), "%s%n", "a" * 5000, "\n", "x.data",
    "all", "cgroup=", "1,2,", "1,,", "string", "array", "seconds", "size", "table", "unwind", "stream", "try", b"\xff\xfe",
)  # fmt: skip


@cache
def sanitized() -> Path:
    with alone("recorder-sanitized"):
        subprocess.run(["make", "-s", "-C", ROOT / "recorder", "sanitized"], check=True)
    return ROOT / "recorder" / "build" / "sanitized" / "perfcase-helper"


def is_bad(code: int, told: str) -> bool:
    return code in (-6, -11) or "runtime error" in told or "ERROR: AddressSanitizer" in told


def call(folder: Path, *words: str | bytes | Path) -> None:
    """Runs it and fails with what the sanitizers say. What it waits for does not come: it has a moment."""
    try:
        done = subprocess.run(
            [sanitized(), *words], cwd=folder, env={**os.environ, **SANITIZERS}, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=10, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return
    told = done.stderr.decode(errors="replace")
    assert not is_bad(done.returncode, told), f"{words}\n{told[:3000]}"


def damaged(chance: random.Random, data: bytes) -> bytes:
    """Half of the damage is in the first bytes, where every number is a length or an offset."""
    copy = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(min(len(copy), chance.choice((512, len(copy)))) or 1)
        width = chance.choice((4, 8))
        match chance.randrange(5):
            case 0:
                copy[at : at + 1] = bytes([chance.randrange(256)])
            case 1 | 2:
                copy[at : at + width] = (chance.choice(EDGES) & ((1 << 8 * width) - 1)).to_bytes(width, "little")
            case 3:
                del copy[at : at + chance.choice((1, 8, 64, len(copy)))]
            case _:
                copy[at:at] = copy[at : at + chance.randrange(64)]
    return bytes(copy)


@cache
def recordings() -> list[bytes]:
    return [lzma.decompress(path.read_bytes())[:40_000] for path in sorted(CAPTURES.glob("*.data.xz"))]


def test_damaged_recordings(tmp_path: Path) -> None:
    chance = random.Random(3)
    file = tmp_path / "x.data"
    for number in range(scaled(300)):
        data = damaged(chance, chance.choice(recordings()))
        file.write_bytes(data)
        call(tmp_path, "count", file)
        file.write_bytes(data)
        call(
            tmp_path,
            "cut-perf",
            file,
            chance.choice(("4096", "0")),
            str(chance.choice((0, 1 << 62))),
            tmp_path / "from",
        )
        file.write_bytes(data)
        symbols = tmp_path / f"symbols{number}"
        symbols.mkdir()
        call(tmp_path, "symbols", "collect", symbols, chance.choice(("table", "mapped")), "-", "100000", "0", file)


def test_damaged_counters(tmp_path: Path) -> None:
    chance = random.Random(4)
    texts = [path.read_bytes() for path in sorted((ROOT / "tests" / "data" / "perf_stat").glob("*.csv"))]
    for _ in range(scaled(300)):
        (tmp_path / "in").write_bytes(damaged(chance, chance.choice(texts)))
        call(tmp_path, "stamp", tmp_path / "in", tmp_path / "out", tmp_path / "zero")


def test_arguments_from_anywhere(tmp_path: Path) -> None:
    chance = random.Random(5)
    (tmp_path / "x.data").write_bytes(recordings()[0])
    for _ in range(scaled(300)):
        words = [chance.choice(WORDS) for _ in range(chance.randrange(9))]
        call(tmp_path, chance.choice(COMMANDS), *words)


def test_a_hostile_proc(tmp_path: Path) -> None:
    """Names, numbers and lines that no kernel writes, and files where folders are."""
    chance = random.Random(6)
    real = {
        "stat": f"7 ({'(' * 30}\n) R 1 2 3 {'9' * 40} " + "18446744073709551615 " * 50,
        "status": "Name:\t" + "x" * 70_000 + "\nTgid:\t-1\nUid:\n",
        "schedstat": "9" * 5000, "io": "rchar: " + "9" * 30, "cgroup": "0::/" + "../" * 2000 + "\n", "cmdline": "\0" * 9000,
        "maps": "ffffffffffffffff-0 r-xp zz 08:01 5 /" + "m" * 9000 + "\n" + "0-1 r-xp 0 0:0 0 \n" * 50, "comm": "", "wchan": "\xff\n",
    }  # fmt: skip
    proc = tmp_path / "proc"
    for pid in ("1", "7", "4194304", "99999999999", "07", "-3"):
        for place in (pid, f"{pid}/task/7", f"{pid}/task/99999999999999999999", f"{pid}/task/x"):
            (proc / place).mkdir(parents=True)
            for name, text in real.items():
                (proc / place / name).write_bytes(damaged(chance, text.encode() or b" "))
        (proc / pid / "fd").mkdir()
        (proc / pid / "fd" / "99999999999").symlink_to("/" + "n" * 4000)
        (proc / pid / "fd" / "x").symlink_to("socket:[99999999999999999999999]")
    for name in ("stat", "meminfo", "cpuinfo", "loadavg", "modules", "kallsyms", "interrupts"):
        (proc / name).write_bytes(chance.randbytes(chance.choice((0, 10, 70_000))))
    helper = sanitized()
    script = """mount --bind "$1" /proc || exit 99
        cd "$4" || exit 1
        for scope in all 1,7,4194304; do
            timeout -s TERM 2 "$2" sample "$3" "$4/sample" 200000000 "$scope"; echo "ended $?"
            timeout -s TERM 2 "$2" details "$4/details" 200000000 "$scope" numa; echo "ended $?"
        done
        for command in 'targets 1 7 4194304' host 'self 7' kallsyms 'sizes .' 'symbols collect . mapped unwind 100000 0 all'; do
            timeout 5 "$2" $command; echo "ended $?"
        done 2>&1 | tr -d '\\0'; true"""
    (tmp_path / "out").mkdir()
    done = in_own_mounts(
        script, proc, helper, ROOT / "recorder" / "proc.list", tmp_path / "out", timeout=120, **SANITIZERS
    )
    told = done.stdout + done.stderr
    assert "ended" in told
    # The sanitizers read their own options in /proc: what they say of leaks at the end says nothing here.
    assert not is_bad(done.returncode, told), re.findall(r".*(?:runtime error|ERROR: Addr).*|.* in .*src/.*", told)
    assert not set(re.findall(r"ended (\d+)", told)) & {"134", "139"}, told[-4000:]


def test_a_long_recording_does_not_grow(tmp_path: Path) -> None:
    """What each snapshot takes it gives back: what is lost at the end is at most what one snapshot takes."""
    options = {**SANITIZERS, "ASAN_OPTIONS": "detect_leaks=1:exitcode=0"}
    sampler = [sanitized(), "sample", ROOT / "recorder" / "proc.list", tmp_path / "out", "20000000", str(os.getpid())]
    lost = []
    for seconds in ("0.5", "3"):
        done = subprocess.run(
            ["timeout", "-s", "TERM", seconds, *sampler], env={**os.environ, **options}, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        found = re.search(r"SUMMARY: AddressSanitizer: (\d+) byte", done.stderr)
        lost.append(int(found[1]) if found else 0)
    assert lost[1] <= lost[0] + 4096, lost
