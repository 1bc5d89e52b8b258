"""Objects that a sample or a stack lies in go into the capture; what else a process has mapped is counted."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.recorder.support import helper
from tests.recorder.test_symbols import build_id, in_namespaces, program_bytes, record, row_of, rows

IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD = (1 << bit for bit in range(9))
RAW, BRANCH_STACK, STACK_USER, IDENTIFIER = 1 << 10, 1 << 11, 1 << 13, 1 << 16
HW_INDEX, GROUP, READ_ID, READ_LOST = 1 << 17, 1 << 3, 1 << 2, 1 << 4
MMAP2, FORK, SAMPLE, COMPRESSED = 10, 7, 9, 81
PLAIN = IP | TID | CALLCHAIN
START, LENGTH = 0x7F00_0000_0000, 0x3000
"""Where the first object is mapped, and how much of it; the others lie a megabyte apart."""
PID = 4_194_000
"""More than any process here has."""


@dataclass
class PerfData:
    """A perf.data as it is written, with three objects that one process has mapped."""

    folder: Path
    events: list[tuple[int, int, int, list[int]]] = field(default_factory=lambda: [(PLAIN, 0, 0, [])])
    """sample_type, read_format, branch_sample_type and the ids of each."""
    records: bytes = b""

    def record(self, kind: int, body: bytes, misc: int = 2) -> None:
        body += bytes(-len(body) % 8)
        self.records += struct.pack("<IHH", kind, misc, len(body) + 8) + body

    def words(self, kind: int, *words: int) -> None:
        self.record(kind, b"".join(struct.pack("<Q", word & (1 << 64) - 1) for word in words))

    def mapped(self, path: Path | str, start: int, pid: int = PID, length: int = LENGTH) -> None:
        path = self.folder / path
        if not path.exists():
            path.write_bytes(program_bytes())
        words = (pid, pid, start, length, 0, 8, 1, path.stat().st_ino, 0, 5, 2)
        self.record(MMAP2, struct.pack("<iiQQQIIQQII", *words) + os.fsencode(path) + b"\0")

    def forked(self, pid: int, parent: int) -> None:
        self.record(FORK, struct.pack("<IIIIQ", pid, parent, pid, parent, 0))

    def sample(self, ip: int, *callers: int, pid: int = PID) -> None:
        """A sample of the plain event."""
        self.words(SAMPLE, ip, pid << 32 | pid, len(callers), *callers)

    def content(self) -> bytes:
        ids = b"".join(struct.pack(f"<{len(event[3])}Q", *event[3]) for event in self.events)
        attrs_at = 104 + len(ids)
        attrs, ids_at = b"", 104
        for sample_type, read_format, branches, event_ids in self.events:
            attr = struct.pack("<IIQQQQQIIQQQ", 1, 128, 0, 0, sample_type, read_format, 0, 0, 0, 0, 0, branches)
            attrs += attr.ljust(128, b"\0") + struct.pack("<QQ", ids_at, len(event_ids) * 8)
            ids_at += len(event_ids) * 8
        at = attrs_at + len(attrs)
        head = struct.pack("<12Q", 104, 144, attrs_at, len(attrs), at, len(self.records), 0, 0, 0, 0, 0, 0)
        return b"PERFILE2" + head + ids + attrs + self.records

    def collect(self, mode: str = "table", content: bytes | None = None) -> tuple[list[str], int, str]:
        """The names of the files that are taken, how many stay out, and what is said."""
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        (self.folder / "perf.data").write_bytes(self.content() if content is None else content)
        # Later than the files: they are the ones that were mapped.
        later = str(time.time_ns() + 10**10)
        words = ["symbols", "collect", out, mode, "-", "100000000", later, self.folder / "perf.data"]
        done = subprocess.run([helper(), *words], capture_output=True, text=True, check=True, timeout=60)
        lines = [line.split("\t") for line in (out / "objects.tsv").read_text().splitlines()[1:]]
        taken = sorted(Path(line[3]).name for line in lines if line[1] != "vdso" and line[0] != "-")
        assert [line for line in lines if line[0] == "-"] == []
        return taken, int(done.stdout.removeprefix("untouched=")), done.stderr


@pytest.fixture
def data(tmp_path: Path) -> PerfData:
    made = PerfData(tmp_path)
    for number, name in enumerate("abc"):
        made.mapped(name, START + number * 0x10_0000)
    return made


def place(name: str, offset: int = 0x1234) -> int:
    return START + "abc".index(name) * 0x10_0000 + offset


def test_a_sample_and_its_callers_touch_what_they_lie_in(data: PerfData) -> None:
    assert data.collect() == ([], 3, "")
    data.sample(place("a"))
    assert data.collect() == (["a"], 2, "")
    data.sample(-0x10_0000, -128, -0x10_0000, -512, place("c"))
    assert data.collect() == (["a", "c"], 1, "")
    assert data.collect("mapped") == (["a", "b", "c"], 0, "")
    assert data.collect("full")[:2] == (["a", "c"], 1)


@pytest.mark.parametrize(
    ("offset", "touches"),
    [
        (-1, False),
        (0, True),
        (LENGTH - 1, True),
        (LENGTH, True),
        (LENGTH + 1, False),
        (1 << 62, False),
        (1 << 63, False),
    ],
)
def test_the_edges_of_a_mapping(data: PerfData, offset: int, touches: bool) -> None:
    """Where a call is the last instruction, it returns to the first address behind."""
    data.sample(0, place("b", offset))
    assert data.collect() == (["b"] if touches else [], 2 if touches else 3, "")


def test_another_process_at_the_same_address_touches_nothing(data: PerfData) -> None:
    data.sample(place("a"), pid=PID + 1)
    data.sample(place("a"), pid=0)
    data.sample(place("a"), pid=0xFFFF_FFFF)
    assert data.collect() == ([], 3, "")


def test_a_child_has_the_mappings_of_those_that_it_descends_from(data: PerfData) -> None:
    data.forked(PID + 2, PID + 1)
    data.sample(place("a"), pid=PID + 2)
    data.forked(PID + 1, PID)  # A later record of another CPU.
    assert data.collect() == (["a"], 2, "")
    # The number is used again, by a child of another process.
    data.forked(PID + 1, PID + 9)
    data.sample(place("b"), pid=PID + 1)
    assert data.collect() == (["a", "b"], 1, "")
    # No kernel says so.
    data.forked(PID, PID + 2)
    data.forked(PID, PID)
    data.sample(place("c"), pid=PID + 1)
    assert data.collect() == (["a", "b", "c"], 0, "")


def test_what_was_mapped_later_or_elsewhere_before(data: PerfData) -> None:
    data.sample(place("a", 0x900_0000))
    data.mapped("late", place("a", 0x900_0000 - 0x1000))
    data.mapped("over it", place("a", 0x900_0000), length=0x1000)
    assert data.collect() == (["late", "over it"], 3, "")


def test_events_with_different_samples(data: PerfData) -> None:
    """All that may stand before the addresses."""
    first = PLAIN | IDENTIFIER | TIME | ADDR | ID | CPU | PERIOD
    second = PLAIN | IDENTIFIER | READ | RAW | BRANCH_STACK
    data.events = [
        (first, 0, 0, [7, 8]),
        (second, GROUP | READ_ID | READ_LOST | 3, HW_INDEX, [9]),
        (second, 3, 0, [10]),
    ]
    task = PID << 32 | PID
    data.words(SAMPLE, 8, 0, task, 1, 2, 8, 0, 1, 1, place("a"))
    assert data.collect() == (["a"], 2, "")
    raw = struct.unpack("<2Q", struct.pack("<I12s", 12, b"\xff" * 12))
    group = (2, 5, 5, *(1, 9, 0), *(1, 10, 0))
    data.words(SAMPLE, 9, 0, task, *group, 1, -128, *raw, 1, 0, place("b"), place("b"), 0)
    assert data.collect() == (["a", "b"], 1, "")
    data.words(SAMPLE, 10, 0, task, *(1, 5, 5), 0, *raw, 2, 0, 0, 0, 0, place("c"), 0)
    assert data.collect() == (["a", "b", "c"], 0, "")


def test_a_copied_stack_may_need_all_that_its_process_has(data: PerfData) -> None:
    data.events = [(PLAIN | STACK_USER, 0, 0, [])]
    data.mapped("another's", START, pid=PID + 1)
    data.forked(PID + 2, PID)
    data.words(SAMPLE, 0, 0, 0, 0, 0)
    assert data.collect() == ([], 4, "")
    data.words(SAMPLE, 0, (PID + 2) << 32 | (PID + 2), 0, 0, 0)
    assert data.collect() == (["a", "b", "c"], 1, "")


def test_in_doubt_all_are_taken_and_it_is_said(data: PerfData) -> None:
    everything = (["a", "b", "c"], 0)
    data.sample(place("a"))
    plain = data.records

    def says(reason: str, content: bytes | None = None) -> None:
        *found, said = data.collect(content=content)
        assert (tuple(found), reason in said, "all mapped objects are taken" in said) == (everything, True, True), said

    data.record(COMPRESSED, bytes(64))
    says("its records are compressed")
    data.records = plain
    data.words(SAMPLE, place("a"), PID << 32 | PID, 2, place("a"))
    says("a sample is damaged")
    data.records = plain
    data.events = [(PLAIN, 0, 0, [1]), (PLAIN | TIME, 0, 0, [2])]
    says("samples do not say of which event they are")
    data.events = [(PLAIN | IDENTIFIER, 0, 0, [1])]
    says("a sample is of no event in the list")
    data.events = [(PLAIN, 0, 0, [])]
    says("cut or damaged", data.content()[:-1])
    says("the list of events is damaged", data.content()[:16] + bytes(8) + data.content()[24:])


def test_the_same_file_in_two_places_is_kept_once(data: PerfData) -> None:
    """By its build id, and without one by its content."""
    for name in "ab":
        data.sample(place(name))
    assert data.collect()[0] == ["a", "b"]
    assert len(list((data.folder / "out" / "elf").iterdir())) == 1
    for name in "ab":
        subprocess.run(["objcopy", "--remove-section", ".note.gnu.build-id", data.folder / name], check=True)
    assert data.collect() == (["a", "b"], 1, "")
    assert len(list((data.folder / "out" / "elf").iterdir())) == 1


def test_what_was_taken_early_and_nothing_touched_goes(data: PerfData, tmp_path: Path) -> None:
    """Its room too: the objects that are touched have the place."""
    data.sample(place("a"))
    data.collect()
    (row,) = [line for line in (tmp_path / "out" / "objects.tsv").read_text().splitlines() if "\telf-table\t" in line]
    member, kind, identity, path, *rest = row.split("\t")
    size = int(rest[2])
    out = tmp_path / "early"
    for folder in ("elf", "perf-map", "jitdump"):
        (out / folder).mkdir(parents=True)
    others = [
        f"elf/00\telf-table\t00\t/lib/other\t-\t-\t{size}\t{size}\t-",
        f"elf/00\telf-table\t00\t/lib/other too\t-\t-\t{size}\t{size}\t-",
        "-\telf-table\t01\t/lib/huge\t-\t-\t-\t-\tbudget",
        f"perf-map/{PID}\tperf-map\t-\t/tmp/perf-{PID}.map\t{PID}\t{PID}\t3\t3\t-",
        f"perf-map/{PID + 1}\tperf-map\t-\t/tmp/perf-{PID + 1}.map\t{PID + 1}\t{PID + 1}\t3\t3\t-",
        f"jitdump/{PID + 1}-0\tjitdump\t-\t/tmp/jit-{PID + 1}.dump\t{PID + 1}\t{PID + 1}\t3\t3\t-",
    ]
    titles = "member\tkind\tbuild_id\tpath\tpid\tnspid\tsize_bytes\toriginal_bytes\treason"
    (out / "objects.tsv").write_text("\n".join([titles, *others, ""]))
    (out / "elf" / "00").write_bytes(bytes(size))
    for name in (f"perf-map/{PID}", f"perf-map/{PID + 1}", f"jitdump/{PID + 1}-0"):
        (out / name).write_bytes(b"map")
    # Room for the two of them less a byte.
    later = str(time.time_ns() + 10**10)
    words = ["symbols", "collect", out, "table", "-", str(2 * size - 1 + 9), later, tmp_path / "perf.data"]
    done = subprocess.run([helper(), *words], capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("untouched=2\n", "")
    lines = [line for line in (out / "objects.tsv").read_text().splitlines() if "\tvdso\t" not in line]
    assert lines == [titles, others[3], "\t".join([member, kind, identity, path, *rest])]
    kept = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file() and path.name != "vdso")
    assert kept == sorted([member, "objects.tsv", f"perf-map/{PID}"])


def test_many_processes_and_samples_take_little_memory(tmp_path: Path) -> None:
    """The file is read once, and what is kept of it is where the samples were."""
    data = PerfData(tmp_path)
    for number in range(300):
        data.forked(PID - number, PID - number + 1)
        data.mapped("one", START + number * 0x10_0000, pid=PID - number)
    for number in range(600):
        data.sample(-1, *(START + number % 300 * 0x10_0000 + depth * 8 for depth in range(60)), pid=PID - 299)
    content = data.content()
    head = len(content) - len(data.records)
    records = data.records * 270
    (tmp_path / "perf.data").write_bytes(content[:48] + struct.pack("<Q", len(records)) + content[56:head] + records)
    out = tmp_path / "out"
    out.mkdir()
    words = [helper(), "symbols", "collect", out, "table", "-", "1000000", str(time.time_ns()), tmp_path / "perf.data"]
    done = subprocess.run(["/usr/bin/env", "time", "-f", "%M %U", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("no time(1) here")
    assert done.stdout == "untouched=0\n"
    resident_kib, user_s = done.stderr.split()
    assert int(resident_kib) < 64 * 1024, f"{resident_kib} KB for {len(records)} bytes"
    assert float(user_s) < 5


LIBRARY = """
#include <time.h>
volatile long total;
__attribute__((noinline)) void spin_in_library(double seconds) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    for (int i = 0; i < 100000; i++) total += i;
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (now.tv_sec - begin.tv_sec + (now.tv_nsec - begin.tv_nsec) * 1e-9 < seconds);
}
"""
USER = """
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) { /* the first library is only mapped, the second one is run and unmapped, the third by a child */
  double seconds = argc > 4 ? atof(argv[4]) : 0.3;
  void *idle = dlopen(argv[1], RTLD_NOW), *gone = dlopen(argv[2], RTLD_NOW), *child = dlopen(argv[3], RTLD_NOW);
  if (!idle || !gone || !child) return 3;
  ((void (*)(double))dlsym(gone, "spin_in_library"))(seconds);
  dlclose(gone);
  if (!fork()) {
    ((void (*)(double))dlsym(child, "spin_in_library"))(seconds);
    _exit(0);
  }
  wait(NULL);
  return 0;
}
"""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A program and three libraries of different builds."""
    folder = tmp_path_factory.mktemp("libraries")
    (folder / "x.c").write_text(USER)
    subprocess.run(["gcc", "-O1", "-w", "-o", folder / "user", folder / "x.c", "-ldl"], check=True)
    for name in ("idle", "gone", "child"):
        (folder / "l.c").write_text(f"int is_{name};{LIBRARY}")
        options = ["-O1", "-fno-omit-frame-pointer", "-shared", "-fPIC", "-Wl,--build-id=sha1"]
        subprocess.run(["gcc", *options, "-o", folder / f"{name}.so", folder / "l.c"], check=True)
    return [folder / "user", *(folder / f"{name}.so" for name in ("idle", "gone", "child"))]


def test_a_library_that_is_mapped_and_never_run_stays_out(libraries: list[Path], tmp_path: Path) -> None:
    capture = record(tmp_path, *libraries)
    paths = {row.path for row in rows(capture)}
    assert [str(path) in paths for path in libraries] == [True, False, True, True]
    source = capture.source("symbols")
    assert source["status"] == "available"
    assert source["reason"].endswith("mapped objects that no sample and no stack touches stay out")
    everything = record(tmp_path, *libraries, options=("--symbols", "mapped", "--force"))
    assert {str(path) for path in libraries} <= {row.path for row in rows(everything)}
    assert everything.source("symbols")["reason"] is None


def test_copied_stacks_keep_the_unwind_tables_of_all_objects(libraries: list[Path], tmp_path: Path) -> None:
    capture = record(tmp_path, *libraries, options=("--call-graph", "dwarf,4096"))
    assert {str(path) for path in libraries} <= {row.path for row in rows(capture)}


def test_perf_names_the_same_objects(libraries: list[Path], tmp_path: Path) -> None:
    """Every object in which perf script finds an address is taken, and no other."""
    capture = record(
        tmp_path,
        "sh",
        "-c",
        '"$@" & ls -R /usr/share/doc >/dev/null; wait',
        "sh",
        *libraries,
        options=("--stacks", "all"),
    )
    (tmp_path / "perf.data").write_bytes(capture.content("perf/perf.data"))
    words = ["perf", "script", "-i", tmp_path / "perf.data", "-F", "ip,sym,dso", "--no-inline"]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    named = {line.rsplit(" (", 1)[1].removesuffix(")") for line in lines if " (/" in line}
    taken = {row.path for row in rows(capture) if row.kind == "elf-table"}
    assert taken == {path for path in named if not path.startswith(("/proc/", "//"))}


def test_an_object_of_a_lost_namespace_that_nothing_touches(libraries: list[Path], tmp_path: Path) -> None:
    """It was copied while it was there: long enough for a recorder that gets little of a CPU."""
    place = tmp_path / "place"
    place.mkdir()
    script = 'mount -t tmpfs x "$1"; cp "$3" "$4" "$5" "$1"; exec "$2" "$1/idle.so" "$1/gone.so" "$1/child.so" 1.5'
    capture = record(tmp_path, *in_namespaces(script), place, *libraries)
    assert row_of(capture, place / "gone.so").member == f"elf/{build_id(libraries[2])}"
    assert str(place / "idle.so") not in {row.path for row in rows(capture)}
