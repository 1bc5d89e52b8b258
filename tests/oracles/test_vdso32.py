"""The vDSO of programs of 32 bits is another image than that of 64: perf calls it [vdso] or [vdso32] and has no names for it."""

from __future__ import annotations

import platform
import re
import subprocess
from pathlib import Path

import pytest

from perfcase.case import store
from tests.oracles.symbols import may_record, our_stacks
from tests.oracles.tools import named_script
from tests.recorder.support import Capture, run
from tests.support.symbols.record import SYMBOLS, perf_script

VDSO = ("[vdso32]", "[vdso]")


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of a program that calls the kernel through it."""
    if platform.machine() != "x86_64" or not may_record():
        pytest.skip("perf on x86_64 only: elsewhere no program of 32 bits runs beside its vDSO here")
    folder = tmp_path_factory.mktemp("vdso32")
    program = folder / "vdso32"
    flags = ["-m32", "-nostdlib", "-static", "-no-pie", "-o", program]
    subprocess.run(["gcc", *flags, SYMBOLS / "src" / "vdso32.s"], check=True)
    done = run("dash", "-q", "--stacks", "all", "-o", folder / "x.perfcase", "--", program)
    assert done.returncode == 0, done.stderr
    return folder


def test_its_functions_are_named_from_its_own_image(capture: Path) -> None:
    recorded = Capture.read(capture / "x.perfcase")
    (capture / "vdso32.so").write_bytes(recorded.content("symbols/vdso32"))
    symbols = subprocess.run(["nm", "-D", capture / "vdso32.so"], capture_output=True, text=True, check=True).stdout
    start = int(re.search(r"^([0-9a-f]+) T __kernel_vsyscall", symbols, re.MULTILINE)[1], 16)
    (capture / "perf.data").write_bytes(recorded.content("perf/perf.data"))
    theirs = named_script.stacks(perf_script(capture / "perf.data", "--no-inline"))
    ours = our_stacks(store.open_case(capture / "x.perfcase", capture / "x.case").folder)
    of = lambda stacks: {key: [[f for f in stack if f.dso in VDSO] for stack in each] for key, each in stacks.items()}  # noqa: E731
    ours, theirs = of(ours), of(theirs)
    (tid,) = {tid for (_, tid), stacks in ours.items() for stack in stacks if any(f.dso == "[vdso32]" for f in stack)}
    places = [
        {key: [[f.address for f in stack] for stack in each] for key, each in side.items() if key[1] == tid}
        for side in (ours, theirs)
    ]
    assert places[0] == places[1]
    found = {key: stacks for key, stacks in ours.items() if key[1] == tid}
    frames = {frame for stacks in found.values() for stack in stacks for frame in stack}
    assert {(frame.name, frame.offset, frame.source) for frame in frames} == {
        ("__kernel_vsyscall", frame.address - start, "dynsym") for frame in frames
    }
    assert frames
