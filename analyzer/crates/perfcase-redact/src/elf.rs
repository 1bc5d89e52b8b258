//! The parts of an ELF file that name functions.

use std::ops::Range;

use perfcase_decode::perf_data::bytes::ByteOrder;

pub(crate) const SYMTAB: u32 = 2;
pub(crate) const STRTAB: u32 = 3;
pub(crate) const NOTE: u32 = 7;
pub(crate) const NOBITS: u32 = 8;
pub(crate) const DYNSYM: u32 = 11;
/// SYMTAB, RELA, REL, DYNSYM, SYMTAB_SHNDX, and the unwind tables of ARM and x86: numbers.
const NUMBERS: [u32; 6] = [SYMTAB, 4, 9, DYNSYM, 18, 0x7000_0001];
/// Other sections in which no function is named. The paths in them are searched for.
const NAMELESS: [&[u8]; 5] = [b".interp", b".eh_frame", b".eh_frame_hdr", b".debug_frame", b".ARM.extab"];
/// Sections that name files: nobody needs them here.
const LINKS: [&[u8]; 2] = [b".gnu_debuglink", b".gnu_debugaltlink"];
/// A smaller ELF file with names of functions, compressed.
const PACKED: &[u8] = b".gnu_debugdata";
const BUILD_ID: &[u8] = b".note.gnu.build-id";
/// The longest note with a build id.
const BUILD_ID_BYTES: usize = 64;
/// Other names of sections that stay: those that every linker gives.
const STANDARD: [&[u8]; 24] = [
    b".text",
    b".init",
    b".fini",
    b".init.text",
    b".plt",
    b".plt.sec",
    b".plt.got",
    b".got",
    b".got.plt",
    b".rela.plt",
    b".rel.plt",
    b".rela.dyn",
    b".rel.dyn",
    b".data",
    b".rodata",
    b".bss",
    b".comment",
    b".dynamic",
    b".symtab",
    b".strtab",
    b".dynsym",
    b".dynstr",
    b".shstrtab",
    b".ARM.exidx",
];

pub(crate) const EXECUTED: u64 = 4;
pub(crate) const COMPRESSED: u64 = 1 << 11;
/// Numbers of sections from here on mean something else.
const RESERVED: usize = 0xff00;

pub(crate) struct Section {
    /// The place of its header.
    pub(crate) at: usize,
    name: usize,
    kind: u32,
    flags: u64,
    /// Its bytes.
    pub(crate) range: Range<usize>,
    /// The number of the section with its strings.
    pub(crate) link: usize,
}

pub(crate) struct Symbol<'a> {
    /// The place of the number of its name.
    pub(crate) at: usize,
    pub(crate) name: &'a [u8],
    /// `None`: it names no code.
    pub(crate) is_defined: Option<bool>,
}

pub(crate) struct Elf<'a> {
    pub(crate) file: &'a [u8],
    order: ByteOrder,
    is_wide: bool,
    is_arm: bool,
    pub(crate) sections: Vec<Section>,
    /// The number of the section with the names of sections.
    pub(crate) names: usize,
}

impl<'a> Elf<'a> {
    /// Reads the headers of sections; `None` where it is no ELF file or is damaged.
    pub(crate) fn open(file: &'a [u8]) -> Option<Elf<'a>> {
        let head = file.get(..6).filter(|head| head.starts_with(b"\x7fELF"))?;
        let is_wide = match head[4] {
            1 => false,
            2 => true,
            _ => return None,
        };
        let order = match head[5] {
            1 => ByteOrder::Little,
            2 => ByteOrder::Big,
            _ => return None,
        };
        let is_arm = matches!(order.u16(file, 18)?, 40 | 183);
        let mut elf = Elf { file, order, is_wide, is_arm, sections: Vec::new(), names: 0 };
        let begin = elf.word(if is_wide { 40 } else { 32 })?;
        let sizes = if is_wide { 58 } else { 46 };
        let (size, count) = (order.u16(file, sizes)? as usize, order.u16(file, sizes + 2)? as usize);
        elf.names = order.u16(file, sizes + 4)?.into();
        if size != elf.header_bytes() || count == 0 || count >= RESERVED || elf.names >= count {
            return None;
        }
        elf.sections = (0..count).map(|index| elf.section(begin.checked_add(index * size)?)).collect::<Option<_>>()?;
        Some(elf)
    }

    /// Does so with a file that has nothing but tables, in which every symbol can be read, and at most one smaller file, which has none.
    pub(crate) fn of_tables(file: &'a [u8]) -> Option<Elf<'a>> {
        let elf = Elf::open(file)?;
        let has_strings = |section: &Section| !section.is_symbols() || elf.strings_of(section).is_some();
        let is_plain = elf.sections.iter().all(|section| elf.is_table(section) && has_strings(section));
        (is_plain && elf.sections.iter().filter(|section| elf.is_packed(section)).count() <= 1).then_some(elf)
    }

    fn header_bytes(&self) -> usize {
        if self.is_wide { 64 } else { 40 }
    }

    /// Reads a number of the size of an address.
    fn word(&self, at: usize) -> Option<usize> {
        match self.is_wide {
            true => usize::try_from(self.order.u64(self.file, at)?).ok(),
            false => usize::try_from(self.order.u32(self.file, at)?).ok(),
        }
    }

    fn section(&self, at: usize) -> Option<Section> {
        let number = |place: usize| self.order.u32(self.file, at.checked_add(place)?);
        let word = |wide: usize, narrow: usize| self.word(at.checked_add(if self.is_wide { wide } else { narrow })?);
        let (kind, offset, size) = (number(4)?, word(24, 16)?, word(32, 20)?);
        let range = if kind == NOBITS || kind == 0 { 0..0 } else { offset..offset.checked_add(size)? };
        self.file.get(range.clone())?;
        let link = number(if self.is_wide { 40 } else { 24 })? as usize;
        Some(Section { at, name: number(0)? as usize, kind, flags: word(8, 8)? as u64, range, link })
    }

    fn is_table(&self, section: &Section) -> bool {
        let is_known = || {
            let name = self.name(section);
            matches!(section.kind, STRTAB | NOTE)
                || NUMBERS.contains(&section.kind)
                || NAMELESS.contains(&name)
                || LINKS.contains(&name)
                || name == PACKED
        };
        section.range.is_empty() || section.flags & (COMPRESSED | EXECUTED) == 0 && is_known()
    }

    fn is_packed(&self, section: &Section) -> bool {
        !section.range.is_empty() && self.name(section) == PACKED
    }

    /// The section with a smaller file that has names, too.
    pub(crate) fn packed(&self) -> Option<&Section> {
        self.sections.iter().find(|section| self.is_packed(section))
    }

    pub(crate) fn name(&self, section: &Section) -> &'a [u8] {
        self.string(self.names, section.name)
    }

    /// The name of a section, if it tells nothing about the program.
    pub(crate) fn kept_name(&self, section: &Section) -> &'a [u8] {
        let name = self.name(section);
        let is_kept = name == PACKED || name == BUILD_ID || NAMELESS.contains(&name) || STANDARD.contains(&name);
        if is_kept { name } else { b"" }
    }

    fn string(&self, table: usize, at: usize) -> &'a [u8] {
        let bytes = self.sections.get(table).and_then(|section| self.file.get(section.range.clone()));
        let rest = bytes.and_then(|bytes| bytes.get(at..)).unwrap_or_default();
        &rest[..rest.iter().position(|&byte| byte == 0).unwrap_or(0)]
    }

    /// The numbers of the tables of symbols whose strings are here.
    pub(crate) fn tables(&self) -> impl Iterator<Item = usize> + '_ {
        let all = self.sections.iter().enumerate();
        all.filter(|(_, section)| section.is_symbols() && self.strings_of(section).is_some()).map(|(index, _)| index)
    }

    fn strings_of(&self, section: &Section) -> Option<&Section> {
        self.sections.get(section.link).filter(|of| of.kind == STRTAB)
    }

    pub(crate) fn symbols(&self, table: usize) -> impl Iterator<Item = Symbol<'a>> + '_ {
        let Section { range, kind, link, .. } = &self.sections[table];
        let size = if self.is_wide { 24 } else { 16 };
        let section_at = if self.is_wide { 6 } else { 14 };
        range.clone().step_by(size).filter(move |at| at + size <= range.end).filter_map(move |at| {
            let name = self.string(*link, self.order.u32(self.file, at)? as usize);
            let section = self.order.u16(self.file, at + section_at)? as usize;
            let is_code = |index: usize| self.sections.get(index).is_some_and(|of| of.flags & EXECUTED != 0);
            let is_defined = match section {
                _ if self.is_arm && is_marker(name) => None,
                0 => (*kind == DYNSYM).then_some(false),
                index => is_code(index).then_some(true),
            };
            Some(Symbol { at, name, is_defined })
        })
    }

    /// Gives a file of the same size with the headers and the numbers alone: everything else is zero.
    pub(crate) fn numbers(&self) -> Vec<u8> {
        let (head, program_at, program, counts) = if self.is_wide { (64, 32, 56, 56) } else { (52, 28, 32, 44) };
        let programs = self.word(program_at).unwrap_or(0);
        let count = self.order.u16(self.file, counts).unwrap_or(0) as usize;
        let headers = self.sections.iter().map(|section| section.at..section.at + self.header_bytes());
        let kept = self.sections.iter().filter(|section| self.is_kept(section)).map(|section| section.range.clone());
        let mut made = vec![0; self.file.len()];
        for range in
            [0..head, programs..programs.saturating_add(count * program)].into_iter().chain(headers).chain(kept)
        {
            if let (Some(to), Some(from)) = (made.get_mut(range.clone()), self.file.get(range)) {
                to.copy_from_slice(from);
            }
        }
        made
    }

    /// Tells whether a section has numbers alone, or what redaction needs not replace.
    pub(crate) fn is_kept(&self, section: &Section) -> bool {
        let name = self.name(section);
        NUMBERS.contains(&section.kind)
            || NAMELESS.contains(&name)
            || section.kind == NOTE && name == BUILD_ID && section.range.len() <= BUILD_ID_BYTES
    }

    pub(crate) fn put32(&self, made: &mut [u8], at: usize, value: u32) -> Option<()> {
        let bytes = match self.order {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        };
        made.get_mut(at..at + 4)?.copy_from_slice(&bytes);
        Some(())
    }

    /// Writes the bytes of a section: in its place, or at the end.
    pub(crate) fn put(&self, made: &mut Vec<u8>, section: &Section, bytes: &[u8]) -> Option<()> {
        let old = made.get_mut(section.range.clone())?;
        old.fill(0);
        let offset = if let Some(place) = old.get_mut(..bytes.len()) {
            place.copy_from_slice(bytes);
            section.range.start
        } else {
            made.extend_from_slice(bytes);
            made.len() - bytes.len()
        };
        for (wide, narrow, value) in [(24, 16, offset), (32, 20, bytes.len())] {
            if !self.is_wide {
                self.put32(made, section.at + narrow, u32::try_from(value).ok()?)?;
                continue;
            }
            let bytes = match self.order {
                ByteOrder::Little => (value as u64).to_le_bytes(),
                ByteOrder::Big => (value as u64).to_be_bytes(),
            };
            made.get_mut(section.at + wide..section.at + wide + 8)?.copy_from_slice(&bytes);
        }
        Some(())
    }
}

impl Section {
    fn is_symbols(&self) -> bool {
        !self.range.is_empty() && matches!(self.kind, SYMTAB | DYNSYM)
    }
}

/// Tells whether a name marks kinds of bytes and no function, as `$x.7` does on ARM.
fn is_marker(name: &[u8]) -> bool {
    matches!(name, [b'$', b'a' | b'd' | b't' | b'x'] | [b'$', b'a' | b'd' | b't' | b'x', b'.', ..])
}
