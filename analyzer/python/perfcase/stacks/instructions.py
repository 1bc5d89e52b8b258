"""The instructions of a function, as text. Its bytes come from a capture, so they may be anything."""

from __future__ import annotations

from itertools import islice

from perfcase.lazy import capstone
from perfcase.text import safe

INSTRUCTIONS_MAX = 100_000
"""How many instructions of one function are printed."""
MACHINES = ("x86-64", "aarch64")
"""The instruction sets that are printed."""


def instructions(machine: str, code: bytes, address: int) -> list[tuple[int, str]]:
    """Return the address and text of each instruction, at most ``INSTRUCTIONS_MAX``. Bytes that are none are data: .byte."""
    if machine == "x86-64":
        reader = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
        # As perf annotate and objdump write it.
        reader.syntax = capstone.CS_OPT_SYNTAX_ATT
    else:
        reader = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_LITTLE_ENDIAN)
    reader.skipdata = True
    # What surpasses 64 bits is no address.
    found = islice(reader.disasm_lite(code, address % (1 << 64)), INSTRUCTIONS_MAX)
    return [(at, safe(f"{name} {operands}".strip())) for at, _, name, operands in found]
