"""Translates between the ways in which perf prints an unnamed code address."""

from __future__ import annotations

import posixpath
from collections import defaultdict

from tests.oracles.tools.perf_script import Mapping


def short_name(path: str) -> str:
    """What perf calls an object for short: `[ext4]` for a module, the base name of a file."""
    if path.endswith(".ko"):
        return "[" + posixpath.basename(path)[:-3].replace("-", "_") + "]"
    if path.startswith("[kernel.kallsyms]"):
        return "[kernel.kallsyms]"
    return path if path.startswith("[") else posixpath.basename(path)


class KernelModules:
    """perf script prints addresses in a kernel module as they are in memory; the table has those within the module."""

    def __init__(self, mappings: list[Mapping]) -> None:
        self._modules = {short_name(m.path): m for m in mappings if m.pid == -1 and m.path.endswith(".ko")}

    def within(self, address: int, dso: str) -> tuple[int, str]:
        """(address, path) as the tables `frame` and `dso` have it."""
        module = self._modules.get(dso)
        if module is None:
            return address, dso
        return address - module.start + module.offset, module.path


class Places:
    """perf report --children names a caller in user space by its address in memory, but the sampled function by the one
    within its object. This translates the first into the second, by the capture's mappings."""

    def __init__(self, mappings: list[Mapping]) -> None:
        self._by_name: dict[str, list[Mapping]] = defaultdict(list)
        for mapping in mappings:
            if not mapping.path.startswith("[kernel.kallsyms]"):
                self._by_name[short_name(mapping.path)].append(mapping)

    def within(self, dso: str, address: int) -> int | None:
        """The address within the object; None where no mapping of it covers the address: it is within already."""
        found = {address - m.start + m.offset for m in self._by_name[dso] if m.start <= address < m.start + m.length}
        if len(found) > 1:
            raise ValueError(f"{dso} is mapped twice over {address:#x}: the row has two meanings")
        return found.pop() if found else None
