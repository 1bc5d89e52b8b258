"""Translates between the ways in which perf prints an unnamed code address."""

from __future__ import annotations

import posixpath
from collections import defaultdict

from tests.oracles.tools.perf_script import Frame, Mapping, Sample

# More than a kernel's text and init text take, less than the distance to its modules.
KERNEL_BYTES = 64 << 20


def short_name(path: str) -> str:
    """What perf calls an object for short: `[ext4]` for a module, the base name of a file."""
    if path.endswith(".ko"):
        return "[" + posixpath.basename(path)[:-3].replace("-", "_") + "]"
    if path.startswith("[kernel.kallsyms]"):
        return "[kernel.kallsyms]"
    return path if path.startswith("[") else posixpath.basename(path)


class Places:
    """The capture's mappings, to translate perf's forms of an address into the table's.

    The tables `frame` and `dso` have the address in the file for code of programs and libraries, and the address in
    memory for the kernel and its modules. perf prints the one or the other, depending on the command.
    """

    def __init__(self, mappings: list[Mapping]) -> None:
        self._files: dict[str, list[Mapping]] = defaultdict(list)
        self._modules: dict[str, Mapping] = {}
        self._kernel: Mapping | None = None
        for mapping in mappings:
            if mapping.path.endswith(".ko"):
                self._modules[short_name(mapping.path)] = mapping
            elif mapping.path.startswith("[kernel.kallsyms]"):
                self._kernel = mapping
            # Addresses of memory without a file are those in memory, whatever offset the mapping has.
            elif not mapping.path.startswith(("[heap]", "[stack")):
                self._files[short_name(mapping.path)].append(mapping)

    def kernel_if_unknown(self, dso: str, address: int) -> str:
        """perf takes the kernel to end at _etext, so its init text is [unknown] to it; to us it is the kernel's."""
        start = self._kernel.start if self._kernel is not None else 0
        inside = self._kernel is not None and start <= address < start + KERNEL_BYTES
        return "[kernel.kallsyms]" if dso == "[unknown]" and inside else dso

    def in_memory(self, module: str, address: int) -> int:
        """The address in memory of one within a module, which is how perf report prints a sampled instruction."""
        mapping = self._modules.get(module)
        if mapping is None or mapping.start <= address < mapping.start + mapping.length:
            return address
        return address - mapping.offset + mapping.start

    def in_file(self, dso: str, address: int) -> int | None:
        """The address in the file of one in memory; None where no mapping of the file covers it."""
        found = {
            address - m.start + m.offset for m in self._files.get(dso, ()) if m.start <= address < m.start + m.length
        }
        if len(found) > 1:
            raise ValueError(f"{dso} is mapped twice over {address:#x}: the row has two meanings")
        return found.pop() if found else None

    def is_file(self, dso: str) -> bool:
        """Whether it is code that programs map."""
        return dso in self._files

    def frames(self, sample: Sample) -> tuple[Frame, ...]:
        """A sample's frames with the table's addresses, objects by their short names."""
        return tuple(self._frame(frame, sample.has_chain) for frame in sample.frames)

    def _frame(self, frame: Frame, in_chain: bool) -> Frame:
        name = self.kernel_if_unknown(short_name(frame.dso), frame.address)
        within = None if in_chain else self.in_file(name, frame.address)
        return Frame(frame.address if within is None else within, name)
