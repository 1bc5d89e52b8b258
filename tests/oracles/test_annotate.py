"""Samples by instruction, compared with perf annotate and objdump on the same recording."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
from pathlib import Path

import pytest

from perfcase.stacks.instructions import instructions
from tests.support.cli import fail, perfcase, succeed
from tests.support.fakecase import make_case
from tests.support.imports import SAMPLES
from tests.support.symbols.record import perf_record

SOURCE = """
static inline __attribute__((always_inline)) unsigned mix(unsigned x) {
    x ^= x << 13;
    x ^= x >> 17;
    return x ^ (x << 5);
}
__attribute__((noipa)) unsigned spin(unsigned n) {
    unsigned x = 1;
    for (unsigned i = 0; i < n; i++)
        x = mix(x) / 3 + i;
    return x;
}
int main(void) {
    volatile unsigned total = 0;
    for (int i = 0; i < 30; i++)
        total += spin(4000000);
    return 0;
}
"""


@pytest.fixture(scope="module")
def spin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the recording of a program that lies beside it."""
    folder = tmp_path_factory.mktemp("spin")
    (folder / "spin.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O1", "-o", "spin", "spin.c"], cwd=folder, check=True)
    perf_record(folder / "spin.data", [str(folder / "spin")], 999)
    return folder / "spin.data"


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_counts_are_those_of_perf_annotate(spin: Path) -> None:
    program = spin.with_name("spin")
    rows = rows_of(succeed("annotate", "spin", spin, "--debug-dir", program, "-f", "csv"))
    command = ["perf", "annotate", "-i", spin, "--stdio", "-n", "-s", "spin"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    by_perf = {int(at, 16): int(n) for n, at in re.findall(r"^ *(\d+) : +([0-9a-f]+):", printed, re.MULTILINE)}
    assert by_perf
    # Code of this program lies at the same offset in the file and in memory.
    own = {int(row["address"]): int(row["sample_count"]) for row in rows}
    assert {at: n for at, n in own.items() if n} == {at: n for at, n in by_perf.items() if n}
    dump = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", "--disassemble=spin", program],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert list(own) == [int(at, 16) for at in re.findall(r"^ +([0-9a-f]+):\t", dump, re.MULTILINE)]
    assert all(row["instruction"] and not row["missing_reason"] for row in rows)
    decoded = subprocess.run(
        ["addr2line", "-e", program, *(hex(at) for at in own)], capture_output=True, text=True, check=True
    ).stdout
    lines = [line.split(":")[1].split()[0] for line in decoded.splitlines()]
    assert [row["source_line"] for row in rows] == lines
    inlined = {row["inlined"] for row in rows if row["source_line"] in ("3", "4", "5") and int(row["sample_count"])}
    assert inlined == {"mix"}


def test_inlined_unknown_and_part(spin: Path) -> None:
    words = ("--debug-dir", spin.with_name("spin"))
    assert "was inlined" in fail(6, "annotate", "mix", spin, *words)
    assert "there is no function it's" in fail(6, "annotate", "it's", spin, *words)
    assert "is not in libc" in fail(6, "annotate", "spin", spin, *words, "--dso", "libc")
    first = rows_of(succeed("annotate", "spin", spin, *words, "-f", "csv", "--only", "window=0s..50ms"))
    whole = rows_of(succeed("annotate", "spin", spin, *words, "-f", "csv"))
    assert [row["address"] for row in first] == [row["address"] for row in whole]
    assert 0 < sum(int(row["sample_count"]) for row in first) < sum(int(row["sample_count"]) for row in whole)


def case_of(folder: Path, machine: str, code: bytes | None, why: str | None = None) -> Path:
    """Return a capture with a function of this code, in two objects."""
    names = [(0, "one", "/lib/one"), (1, "two", "/lib/two")]
    return make_case(
        folder / "x.case",
        {
            "perf_event": [{"event_id": 0, "source_id": 0, "name": "cpu-clock"}],
            "dso": [{"dso_id": at, "name": name, "path": path, "kind": "user"} for at, name, path in names],
            "frame": [
                {"frame_id": at, "dso_id": at // 2, "address": 4096 + at % 2, "is_kernel": False, "symbol": "f'\"",
                 "symbol_offset_bytes": at % 2, "is_inlined": False, "is_return_address": False} for at in range(4)
            ],
            "sample": [
                {"sample_id": at, "ts_ns": at, "event_id": 0, "period": 10, "cpu_mode": 2, "frame_id": at} for at in range(4)
            ],
            "function_code": [
                {"dso_id": 0, "address": 4096, "symbol": "f'\"", "size_bytes": len(code or b""), "machine": machine,
                 "code": code, "missing_reason": why}
            ],
        },
    )  # fmt: skip


@pytest.mark.parametrize(
    ("machine", "code", "said"),
    [
        ("x86-64", b"\x90\x90", ""),
        ("x86-64", b"\x48\x89\xc0", "no instruction begins here"),
        ("x86-64", b"\xff" * 5000, ""),
        ("x86-64", b"", "no instruction begins here"),
        ("x86-64", None, "symbol tables only; record with --symbols full"),
        ("aarch64", b"\x1f\x20\x03\xd5", "no instruction begins here"),
        ("arm", b"\x00\xbf", "the instruction set arm is not printed"),
    ],
)
def test_any_code(tmp_path: Path, machine: str, code: bytes | None, said: str) -> None:
    """Whatever the code is, no sample is lost, and what has no text says why."""
    case = case_of(tmp_path, machine, code, "symbol tables only" if code is None else None)
    refused = perfcase("annotate", "f'\"", case)
    told = refused.stderr
    assert refused.returncode == 2
    assert "2 objects have a function" in told
    assert [line.split() for line in told.splitlines()[1:]] == [
        ["--dso", "path", "build", "ID", "samples"], ["0", "/lib/one", "-", "2"], ["1", "/lib/two", "-", "2"],
    ]  # fmt: skip
    assert json.loads(succeed("annotate", "f'\"", case, "--objects", "-f", "json")) == [
        {"dso_id": at, "dso": name, "path": f"/lib/{name}", "build_id": None, "sample_count": 2}
        for at, name in enumerate(("one", "two"))
    ]
    assert {
        row["dso"] for row in json.loads(perfcase("annotate", "f'\"", case, "--dso", "1", "-f", "json").stdout)
    } == {"two"}
    done = perfcase("annotate", "f'\"", case, "--dso", "/lib/one", "-f", "json")
    rows = json.loads(done.stdout)
    assert sum(row["sample_count"] for row in rows) == 2
    assert all((row["instruction"] is None) == (row["missing_reason"] is not None) for row in rows)
    assert said in done.stderr


def test_every_byte_is_an_instruction_or_data() -> None:
    assert instructions("aarch64", b"\x1f\x20\x03\xd5", 8) == [(8, "nop")]
    assert instructions("x86-64", b"\x06", 1 << 63) == [(1 << 63, ".byte 0x06")]
    assert len(instructions("x86-64", b"\x90" * 200_000, 0)) == 100_000


def test_stacks_that_are_left_out_do_not_count(tmp_path: Path) -> None:
    """The same names leave out the same samples in a flame graph and here: the function's own total is the same."""
    capture = SAMPLES / "d-type-checks" / "server.perfcase"

    def totals(*shape: str) -> tuple[int, int]:
        words = ("--workload", *shape)
        graph = tmp_path / "graph.json"
        # It says on standard error where it wrote.
        assert (
            perfcase(
                "flamegraph", capture, *words, "--format", "neighbours", "--of", "same_type", "-o", graph
            ).returncode
            == 0
        )
        done = perfcase("annotate", "same_type", capture, *words, "-f", "json")
        return json.loads(graph.read_text())["self"], sum(row["period"] for row in json.loads(done.stdout))

    whole = totals()
    assert whole[0] == whole[1] > 0
    for shape in (
        ("--include", "list_orders"), ("--exclude", "list_orders"), ("--include", "list_orders", "--include", "shop-worker"),
        ("--include", "list_orders", "--exclude", "handle"), ("--exclude", "no such"),
    ):  # fmt: skip
        of_graph, own = totals(*shape)
        assert of_graph == own, shape
        assert (own < whole[0]) == (shape[1] != "no such"), shape
    for name in ("same_type", "shop-worker"):
        assert totals("--exclude", name) == (0, 0)
    assert totals("--include", "[server]") == (0, 0)
    # There the graph has no function of the object any more.
    assert totals("--include", "[server]", "--collapse", "server")[1] == whole[1]


def test_the_text_of_source_lines(spin: Path) -> None:
    program = ("--debug-dir", spin.with_name("spin"), "-f", "csv")
    done = perfcase("annotate", "spin", spin, *program, "--source", spin.parent)
    rows = rows_of(done.stdout)
    assert "no source text" not in done.stderr
    named = [row for row in rows if row["source_file"].endswith("spin.c")]
    assert len(named) > 10
    text = SOURCE.split("\n")
    assert all(row["source_text"] == text[int(row["source_line"]) - 1].rstrip() for row in named)
    assert any("mix(x) / 3 + i" in row["source_text"] for row in rows if int(row["sample_count"]))
    # The same rows, with one column more.
    plain = rows_of(succeed("annotate", "spin", spin, *program))
    assert plain == [{key: value for key, value in row.items() if key != "source_text"} for row in rows]


def test_source_that_is_not_there(spin: Path, tmp_path: Path) -> None:
    done = perfcase("annotate", "spin", spin, "--debug-dir", spin.with_name("spin"), "--source", tmp_path, "-f", "csv")
    assert done.returncode == 0
    assert {row["source_text"] for row in rows_of(done.stdout)} == {""}
    assert f"no source text: not in a folder of --source: {spin.with_name('spin.c')}" in done.stderr
    assert "no such folder" in fail(6, "annotate", "spin", spin, "--source", tmp_path / "none")
