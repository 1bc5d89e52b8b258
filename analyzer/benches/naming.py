"""`make bench`: perfcase symbolize on 100,000 addresses in 300 libraries of this machine, against perf and addr2line.

    python analyzer/benches/naming.py [--runs N] [--objects N] [--addresses N]

The objects are shared libraries of this machine (with their debug files, where installed), the addresses are evenly
spread over their functions. They are samples of a perf.data that is written for the purpose. Timed is
`perfcase symbolize CASE --debug-dir D`, the whole command: find the objects by build id, name the addresses, write the
tables. perf script names the same samples, with as many lines of output; addr2line and llvm-symbolizer, which take one
object a run, the addresses of every 30th object, which is scaled up.
"""

from __future__ import annotations

import argparse
import bisect
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

PERFCASE = Path(sys.prefix) / "bin" / "perfcase"
GOAL_S = 2.0
SAMPLED = 30
PAGE = 4096
LIBRARIES = ("/usr/lib", "/usr/local/lib", "/lib")


@dataclass(frozen=True)
class Library:
    """A shared library: where its code lies in the file, and which addresses of it are asked for."""

    path: Path
    build_id: str
    offset: int
    address: int
    size: int
    functions: tuple[tuple[int, int], ...]

    def places(self, count: int) -> list[int]:
        """That many distinct addresses in functions, evenly spread."""
        ends, total = [], 0
        for _, size in self.functions:
            total += size
            ends.append(total)
        found = []
        for number in range(count):
            at = number * total // count
            index = bisect.bisect_right(ends, at)
            start, size = self.functions[index]
            found.append(start + size - (ends[index] - at))
        return found


def library(path: Path) -> Library | None:
    """What is to know of it; None: not one that serves (other word size, no build id, few functions)."""
    data = path.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", data, 16)[0] != 3:
        return None
    program_offset, section_offset = struct.unpack_from("<QQ", data, 32)
    program_count, _, section_count = struct.unpack_from("<HHH", data, 56)
    programs = [struct.unpack_from("<IIQQQQQQ", data, program_offset + 56 * index) for index in range(program_count)]
    code = next((row for row in programs if row[0] == 1 and row[1] & 1), None)
    build_id = ""
    functions: set[tuple[int, int]] = set()
    for index in range(section_count):
        row = struct.unpack_from("<IIQQQQIIQQ", data, section_offset + 64 * index)
        kind, offset, size = row[1], row[4], row[5]
        if kind == 7 and data[offset + 12 : offset + 16] == b"GNU\0" and data[offset + 8] == 3:
            build_id = data[offset + 16 : offset + 16 + data[offset + 4]].hex()
        if kind in (2, 11):
            for _, info, _, section, value, length in struct.iter_unpack("<IBBHQQ", data[offset : offset + size]):
                if info & 15 == 2 and section and length:
                    functions.add((value, length))
    if code is None or not build_id or not functions:
        return None
    inside = [each for each in sorted(functions) if code[3] <= each[0] and each[0] + each[1] <= code[3] + code[5]]
    apart = [each for each, after in zip(inside, [*inside[1:], (1 << 63, 0)], strict=False) if sum(each) <= after[0]]
    return Library(path.resolve(), build_id, code[2], code[3], code[5], tuple(apart))


def libraries(count: int, addresses: int) -> list[Library]:
    """The largest ones of the machine that have room for their share of addresses, each build id once."""
    found: dict[str, Library] = {}
    paths = {path.resolve() for root in LIBRARIES for path in Path(root).rglob("*.so*") if path.is_file()}
    for path in sorted(paths, key=lambda path: -path.stat().st_size):
        each = library(path)
        if each is not None and sum(size for _, size in each.functions) >= 2 * addresses:
            found.setdefault(each.build_id, each)
        if len(found) == count:
            return list(found.values())
    sys.exit(f"bench: this machine has {len(found)} shared libraries that serve, not {count}: see --objects")


def record(kind: int, misc: int, body: bytes) -> bytes:
    """A record of perf.data."""
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def perf_data(used: list[tuple[Library, list[int]]]) -> bytes:
    """A file in perf's format (tools/perf/Documentation/perf.data-file-format.txt): a process that maps every library,
    and a sample at every address."""
    pid, user, has_build_id = 4711, 2, 1 << 14
    now = 1_000_000_000
    trailer = struct.pack("<IIQ", pid, pid, now)
    out = [record(3, user, struct.pack("<II8s", pid, pid, b"bench") + trailer)]
    samples = []
    base = 0x7F00_0000_0000
    for each, places in used:
        start = each.address % PAGE
        length = -(-(each.size + start) // PAGE) * PAGE
        name = str(each.path).encode() + b"\0"
        name += bytes(-len(name) % 8)
        build_id = bytes.fromhex(each.build_id)[:20].ljust(20, b"\0")
        head = struct.pack("<IIQQQ", pid, pid, base, length, each.offset - start)
        head += struct.pack("<BBH", len(each.build_id) // 2, 0, 0) + build_id + struct.pack("<II", 5, 2)
        out.append(record(10, user | has_build_id, head + name + trailer))
        samples += [base + place - each.address + start for place in places]
        base += length + 16 * PAGE
    for number, address in enumerate(samples):
        out.append(record(9, user, struct.pack("<QIIQ", address, pid, pid, now + 1000 * (number + 1))))
    data = b"".join(out)
    # cpu-clock; ip, tid, time; mmap, comm, sample_id_all, mmap2, clock monotonic, which are flags by number.
    flags = sum(1 << bit for bit in (8, 9, 18, 23, 25))
    attribute = struct.pack("<IIQQQQQ", 1, 128, 0, 1_000_000, 7, 0, flags)
    attribute = attribute.ljust(92, b"\0") + struct.pack("<i", 1)
    attribute = attribute.ljust(128, b"\0") + struct.pack("<QQ", 0, 0)
    header = b"PERFILE2" + struct.pack("<QQ", 104, len(attribute))
    header += struct.pack("<QQQQQQ", 104, len(attribute), 104 + len(attribute), len(data), 0, 0) + bytes(32)
    return header + attribute + data


@dataclass(frozen=True, order=True)
class Run:
    """What a command took: on a busy machine the CPU time says more."""

    wall_s: float
    cpu_s: float

    def __str__(self) -> str:
        return f"{self.wall_s:6.2f} s, of the CPU {self.cpu_s:6.2f} s"

    def scaled(self, by: float) -> Run:
        """So many times as much."""
        return Run(self.wall_s * by, self.cpu_s * by)


def cpu_s() -> float:
    """CPU time of all commands so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def timed(command: list[object], text: str | None = None) -> tuple[Run, str]:
    """A command that must succeed, and what it printed."""
    begin, cpu = time.monotonic(), cpu_s()
    done = subprocess.run(list(map(str, command)), input=text, capture_output=True, text=True, errors="replace")
    run = Run(time.monotonic() - begin, cpu_s() - cpu)
    if done.returncode != 0:
        sys.exit(f"{command[0]}: exit {done.returncode}\n{done.stderr[-1000:]}")
    return run, done.stdout


def perfcase(data: Path, debug: Path, folder: Path) -> tuple[Run, int]:
    """What symbolize takes, and how many addresses have a name then."""
    case = folder / "x.case"
    shutil.rmtree(case, ignore_errors=True)
    timed([PERFCASE, "import", data, "-o", case])
    run, _ = timed([PERFCASE, "symbolize", case, "--debug-dir", debug])
    query = "SELECT count(*) FROM frame WHERE symbol IS NOT NULL AND NOT is_inlined"
    _, text = timed([PERFCASE, "sql", case, query, "--format", "csv"])
    return run, int(text.split()[-1])


def one_object_tool(command: list[str], used: list[tuple[Library, list[int]]]) -> Run:
    """What it takes for all, scaled from every SAMPLED-th object."""
    chosen = used[::SAMPLED]
    runs = [timed([*command, each.path], "".join(f"{at:#x}\n" for at in places))[0] for each, places in chosen]
    all_of_it = Run(sum(run.wall_s for run in runs), sum(run.cpu_s for run in runs))
    return all_of_it.scaled(sum(len(places) for _, places in used) / sum(len(places) for _, places in chosen))


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description="names for many addresses, against perf and addr2line")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--objects", type=int, default=300)
    parser.add_argument("--addresses", type=int, default=100_000)
    options = parser.parse_args()
    share = -(-options.addresses // options.objects)
    found = libraries(options.objects, share)
    used, left = [], options.addresses
    for each in found:
        used.append((each, each.places(min(share, left))))
        left -= len(used[-1][1])
    with tempfile.TemporaryDirectory(prefix="perfcase-bench-") as name:
        folder = Path(name)
        data = folder / "bench.data"
        data.write_bytes(perf_data(used))
        debug = folder / "debug"
        for each, _ in used:
            link = debug / each.build_id / "executable"
            link.parent.mkdir(parents=True)
            link.symlink_to(each.path)
        ours: list[Run] = []
        theirs: list[Run] = []
        for _ in range(options.runs):
            run, named = perfcase(data, debug, folder)
            ours.append(run)
            if shutil.which("perf"):
                script = [
                    "perf",
                    "--no-pager",
                    "--buildid-dir",
                    folder / "none",
                    "script",
                    "-F",
                    "ip,sym,dso",
                    "-i",
                    data,
                ]
                run, text = timed(script)
                theirs.append(run)
        size = sum(each.path.stat().st_size for each in found)
        print(
            f"{options.addresses} addresses in {len(found)} objects of {size / 1e6:.0f} MB; best of {options.runs} runs"
        )
        print(f"perfcase symbolize  {min(ours)}  {named} named (goal: less than {GOAL_S:.0f} s)")
        if theirs:
            their_names = sum("[unknown]" not in line for line in text.splitlines() if line.strip())
            print(f"perf script         {min(theirs)}  {their_names} named")
        for tool in (["addr2line", "-f", "-e"], ["llvm-symbolizer", "--functions", "-e"]):
            if shutil.which(tool[0]):
                print(f"{tool[0]:19} {one_object_tool(tool, used)}  (every {SAMPLED}th object, scaled)")
    if min(ours).wall_s >= GOAL_S or named < options.addresses:
        print("a goal is not met")


if __name__ == "__main__":
    main()
