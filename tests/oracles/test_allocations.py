"""allocation_by_stack on a program recorded here, whose every call and every touched page is known: it has no library.

It asks for 40 pages by brk and touches them, gives 10 back, maps 100 pages in one function and 50 in another, touches 60
of the first, gives 30 back, and lets 20 grow by 15.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from perfcase.case import store
from tests.oracles.conftest import Case

PAGE = 4096
# The kernel's calls without a library: so nothing else asks for memory, and every frame has a frame pointer.
SOURCE = """
typedef long word;
#if defined(__x86_64__)
enum { BRK = 12, MMAP = 9, MUNMAP = 11, MREMAP = 25, EXIT = 60 };
static inline word call(word n, word a, word b, word c, word d, word e, word f) {
    word ret;
    register word r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("syscall" : "=a"(ret) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return ret;
}
#else
enum { BRK = 214, MMAP = 222, MUNMAP = 215, MREMAP = 216, EXIT = 93 };
static inline word call(word n, word a, word b, word c, word d, word e, word f) {
    register word x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    register word x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}
#endif
enum { PAGE = 4096 };
__attribute__((noinline)) static void touch_heap(char *at, word pages) { while (pages--) { *(volatile char *)at = 1; at += PAGE; } }
__attribute__((noinline)) static void touch_map(char *at, word pages) { while (pages--) { *(volatile char *)at = 2; at += PAGE; } }
__attribute__((noinline)) static void heap(void) {
    word start = call(BRK, 0, 0, 0, 0, 0, 0);
    call(BRK, start + 40 * PAGE, 0, 0, 0, 0, 0);
    touch_heap((char *)start, 40);
    call(BRK, start + 30 * PAGE, 0, 0, 0, 0, 0);
}
__attribute__((noinline)) static word map_much(void) { return call(MMAP, 0, 100 * PAGE, 3, 0x22, -1, 0); }
__attribute__((noinline)) static word map_little(void) { return call(MMAP, 0, 50 * PAGE - 1, 3, 0x22, -1, 0); }
void _start(void) {
    heap();
    word much = map_much();
    touch_map((char *)much, 60);
    word little = map_little();
    call(MUNMAP, little, 30 * PAGE, 0, 0, 0, 0);
    call(MREMAP, little + 30 * PAGE, 20 * PAGE, 35 * PAGE, 1, 0, 0);
    call(MMAP, 0, -PAGE, 3, 0x22, -1, 0);
    call(EXIT, 0, 0, 0, 0, 0, 0);
}
"""
CALLS = [f"syscalls:sys_{side}_{call}" for call in ("brk", "mmap", "munmap", "mremap") for side in ("enter", "exit")]


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder: Path = tmp_path_factory.mktemp("allocations")
    if platform.machine() not in ("x86_64", "aarch64") or not all(map(shutil.which, ("cc", "perf"))):
        pytest.skip("no compiler or no perf, or another machine than the program is written for")
    (folder / "grow.c").write_text(SOURCE)
    options = "-O1 -g0 -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-stack-protector -static -nostdlib"
    subprocess.run(["cc", *options.split(), "-o", folder / "grow", folder / "grow.c"], check=True)
    record = ["perf", "record", "-q", "-B", "-k", "CLOCK_MONOTONIC", "-g", "-c", "1", "-o", folder / "grow.data"]
    done = subprocess.run(
        [*record, "-e", ",".join(["page-faults:u", *CALLS]), "--", folder / "grow"], capture_output=True, text=True
    )
    if done.returncode != 0:
        pytest.skip(f"this machine does not let the tests record system calls: {done.stderr.strip()[-300:]}")
    return Case(store.open_case(folder / "grow.data", folder / "grow.case").folder)


def test_what_was_asked_for_and_given_back(case: Case) -> None:
    rows = case.rows(f"""
        SELECT kind, sum(event_count)::BIGINT, sum(grown_bytes)::BIGINT // {PAGE}, sum(shrunk_bytes)::BIGINT // {PAGE}
        FROM allocation_by_stack WHERE process = 'grow' AND kind <> 'page-faults:u' GROUP BY kind ORDER BY kind
    """)
    assert rows == [("brk", 2, 40, 10), ("mmap", 2, 150, 0), ("mremap", 1, 15, 0), ("munmap", 1, 0, 30)]


def test_each_stack(case: Case) -> None:
    """Two functions map; the heap is touched by one and the map by another, once for every page."""
    mapped = case.rows(f"""
        SELECT event_count, grown_bytes // {PAGE}, grown_ratio FROM allocation_by_stack
        WHERE process = 'grow' AND kind = 'mmap' AND stack IS NOT NULL ORDER BY grown_bytes DESC
    """)
    assert mapped == [(1, 100, 100 / 150), (1, 50, 50 / 150)]
    touched = case.rows(f"""
        SELECT event_count, grown_bytes // {PAGE} FROM allocation_by_stack
        WHERE process = 'grow' AND kind = 'page-faults:u' AND stack IS NOT NULL ORDER BY grown_bytes DESC LIMIT 2
    """)
    assert touched == [(60, 60), (40, 40)]
