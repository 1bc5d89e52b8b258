"""Writes an ELF file that holds the symbol tables of another and none of its code, optionally only the symbols near
given addresses. 64-bit little-endian files only: these are what the tests record."""

from __future__ import annotations

import bisect
import struct
from collections.abc import Collection
from dataclasses import dataclass, replace

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
PROGRAM = struct.Struct("<IIQQQQQQ")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QQq")
PT_LOAD, PT_NOTE = 1, 4
SHT_SYMTAB, SHT_STRTAB, SHT_NOTE, SHT_NOBITS, SHT_DYNSYM = 2, 3, 7, 8, 11
STT_FUNC, STT_GNU_IFUNC = 2, 10
NT_GNU_BUILD_ID = 3
KEPT = {".symtab", ".strtab", ".dynsym", ".dynstr", ".gnu_debugdata", ".gnu_debuglink", ".rela.plt", ".shstrtab"}
UNWINDING = {".eh_frame", ".eh_frame_hdr", ".debug_frame"}
# How many symbols before and after a used address stay, so that a naming that is off by one still finds a wrong name.
NEIGHBOURS = 3


@dataclass(frozen=True)
class Section:
    """A section header and the bytes it describes."""

    name: str
    fields: tuple[int, ...]
    data: bytes

    @property
    def kind(self) -> int:
        """sh_type."""
        return self.fields[1]


class Elf:
    """The headers and sections of a file."""

    def __init__(self, data: bytes) -> None:
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not a 64-bit little-endian ELF file")
        self.data = data
        self.header = HEADER.unpack_from(data)
        offset, count = self.header[5], self.header[10]
        self.programs = [PROGRAM.unpack_from(data, offset + PROGRAM.size * index) for index in range(count)]
        offset, count, names = self.header[6], self.header[12], self.header[13]
        fields = [SECTION.unpack_from(data, offset + SECTION.size * index) for index in range(count)]
        self.sections: list[Section] = []
        for row in fields:
            start = fields[names][4] + row[0]
            name = data[start : data.index(b"\0", start)].decode()
            self.sections.append(Section(name, row, b"" if row[1] == SHT_NOBITS else data[row[4] : row[4] + row[5]]))

    def section(self, name: str) -> Section | None:
        """The section of that name that holds bytes."""
        return next((each for each in self.sections if each.name == name and each.kind != SHT_NOBITS), None)

    def build_id(self) -> str | None:
        """Lower hex."""
        for each in self.sections:
            # The vDSO has all its notes in one section, .note.
            notes = each.data if each.kind == SHT_NOTE else b""
            while len(notes) > 12:
                name_size, size, kind = struct.unpack_from("<III", notes)
                start = 12 + (name_size + 3 & ~3)
                if kind == NT_GNU_BUILD_ID and notes[12 : 12 + name_size] == b"GNU\0":
                    return notes[start : start + size].hex()
                notes = notes[start + (size + 3 & ~3) :]
        return None

    def address_of(self, file_offset: int) -> int | None:
        """The address that the file asks for, for code at this place of the file."""
        for kind, _, offset, address, _, size, _, _ in self.programs:
            if kind == PT_LOAD and offset <= file_offset < offset + size:
                return address + file_offset - offset
        return None


def tables_of(
    data: bytes,
    debug: bytes | None,
    near: Collection[int] | None,
    *,
    unwinding: bool = False,
    small_frames: bool = False,
) -> bytes:
    """The file without code and data. ``small_frames``: of unwind tables only those of functions at used places.

    ``debug`` is its separate debug file: its .symtab is taken where the file has none. ``near`` are the used places of
    the file: symbols that are not near one are blanked (zeros, which compress to nothing), the rest keep their place.
    """
    elf = Elf(data)
    sections = list(elf.sections)
    if elf.section(".symtab") is None and debug is not None:
        other = Elf(debug)
        table, strings = other.section(".symtab"), other.section(".strtab")
        if table is not None and strings is not None:
            link = (*table.fields[:6], len(sections) + 1, *table.fields[7:])
            sections += [Section(".symtab", link, table.data), strings]
    if near is not None:
        used = sorted(found for found in map(elf.address_of, near) if found is not None)
        for index, each in enumerate(sections):
            if each.kind in (SHT_SYMTAB, SHT_DYNSYM):
                strings_index = each.fields[6]
                called = _called_by_plt(elf, used) if each.kind == SHT_DYNSYM else set()
                table, text = _prune(each.data, sections[strings_index].data, used, called)
                sections[index] = replace(each, data=table)
                sections[strings_index] = replace(sections[strings_index], data=text)
    kept = KEPT | (UNWINDING if unwinding else set())
    if unwinding and near is not None and small_frames:
        for index, each in enumerate(sections):
            if each.name == ".eh_frame":
                sections[index] = replace(each, data=_prune_frames(elf, each, used))
        kept -= {".eh_frame_hdr"}  # it lists what is blank now
    return _write(elf, sections, lambda each: each.name in kept or each.kind == SHT_NOTE)


def _prune_frames(elf: Elf, section: Section, used: list[int]) -> bytes:
    """.eh_frame (LSB 5.0, 10.6) whose descriptions of other functions are of no code: their addresses, which all compilers
    write relative to their place in 4 bytes, and their instructions are zeros."""
    data, address = bytearray(section.data), section.fields[3]
    at = 0
    while at + 8 <= len(data):
        length, cie = struct.unpack_from("<II", data, at)
        if length in (0, 0xFFFFFFFF):
            break
        if cie:
            (start,), (size,) = struct.unpack_from("<i", data, at + 8), struct.unpack_from("<I", data, at + 12)
            start += address + at + 8
            if not any(kind == PT_LOAD and flags & 1 and 0 <= start - base < most
                       for kind, flags, _, base, _, _, most, _ in elf.programs):  # fmt: skip
                raise ValueError(f"{start:#x} is no code: another encoding of addresses")
            place = bisect.bisect_left(used, start)
            if place == len(used) or used[place] >= start + size:
                data[at + 8 : at + 4 + length] = bytes(length - 4)
        at += 4 + length
    return bytes(data)


def _called_by_plt(elf: Elf, used: list[int]) -> set[int]:
    """Indices of the symbols after which the used entries of .plt and their neighbours are named."""
    plt, relocations = elf.section(".plt"), elf.section(".rela.plt")
    if plt is None or relocations is None:
        return set()
    near: set[int] = set()
    for address in used:
        if 0 <= address - plt.fields[3] < len(plt.data):
            # A header of 16 or 32 bytes, then 16 each.
            entry = (address - plt.fields[3]) // 16
            near.update(range(max(0, entry - 1 - NEIGHBOURS), entry + NEIGHBOURS))
    rows = list(RELOCATION.iter_unpack(relocations.data))
    return {rows[index][1] >> 32 for index in near if index < len(rows)}


def _prune(table: bytes, strings: bytes, used: list[int], called: Collection[int]) -> tuple[bytes, bytes]:
    symbols = list(SYMBOL.iter_unpack(table))
    starts = sorted({row[4] for row in symbols if row[3] and row[1] & 15 in (0, STT_FUNC, STT_GNU_IFUNC)})
    wanted = set()
    for address in used:
        place = bisect.bisect_right(starts, address)
        wanted.update(starts[max(0, place - NEIGHBOURS) : place + NEIGHBOURS])
    text = bytearray(len(strings))
    rows = []
    for index, row in enumerate(symbols):
        # Those of other objects are what the entries of .plt are named after.
        if not row[3] or row[4] in wanted or index in called:
            end = strings.index(b"\0", row[0])
            text[row[0] : end] = strings[row[0] : end]
            rows.append(SYMBOL.pack(*row))
        else:
            rows.append(bytes(SYMBOL.size))
    return b"".join(rows), bytes(text)


def _write(elf: Elf, sections: list[Section], keep) -> bytes:
    programs = b"".join(PROGRAM.pack(*row) for row in elf.programs)
    out = bytearray(elf.data[: HEADER.size])
    # The program headers stay where the header says.
    out.extend(bytes(max(0, elf.header[5] - len(out))))
    out[elf.header[5] : elf.header[5] + len(programs)] = programs
    names, rows = bytearray(b"\0"), []
    names_index = elf.header[13]
    for each in sections:
        position = len(names) if each.name else 0
        names.extend(each.name.encode() + b"\0" if each.name else b"")
        rows.append((position, each))
    headers = []
    for position, each in rows:
        data = bytes(names) if each is sections[names_index] else each.data
        kind, size, offset = each.kind, each.fields[5], each.fields[4]
        if kind and keep(each):
            out.extend(bytes(-len(out) % 8))
            offset, size = len(out), len(data)
            out.extend(data)
        elif kind:
            kind = SHT_NOBITS
        headers.append(SECTION.pack(position, kind, *each.fields[2:4], offset, size, *each.fields[6:]))
    out.extend(bytes(-len(out) % 8))
    struct.pack_into("<Q", out, 40, len(out))
    struct.pack_into("<H", out, 60, len(headers))
    return bytes(out) + b"".join(headers)
