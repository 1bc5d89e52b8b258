//! Names of functions in a table-only ELF file (`schema/README.md`, symbols): read, and replaced by others.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use perfcase_decode::perf_data::bytes::ByteOrder;
use perfcase_symbols::demangle;

const SYMTAB: u32 = 2;
const STRTAB: u32 = 3;
const NOBITS: u32 = 8;
const DYNSYM: u32 = 11;
/// NULL, SYMTAB, STRTAB, RELA, NOTE, NOBITS, REL, DYNSYM, SYMTAB_SHNDX, and the unwind tables of ARM and x86.
const TABLES: [u32; 10] = [0, SYMTAB, STRTAB, 4, 7, NOBITS, 9, DYNSYM, 18, 0x7000_0001];
/// Other sections in which no function is named.
const NAMELESS: [&[u8]; 7] = [
    b".interp",
    b".gnu_debuglink",
    b".gnu_debugaltlink",
    b".eh_frame",
    b".eh_frame_hdr",
    b".debug_frame",
    b".ARM.extab",
];
const EXECUTED: u64 = 4;
const COMPRESSED: u64 = 1 << 11;
/// Numbers of sections from here on mean something else.
const RESERVED: usize = 0xff00;

/// The name of a symbol that names code.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SymbolName {
    /// As the file has it.
    pub raw: Vec<u8>,
    /// As people see it.
    pub shown: String,
    /// Whether the code is in this object: otherwise it calls it in another one.
    pub is_defined: bool,
}

/// Gives the names in a file, each once. `None`: it is not of tables alone, so it has names in other places too.
pub fn symbol_names(file: &[u8]) -> Option<Vec<SymbolName>> {
    let elf = Elf::open(file)?;
    let mut known = HashSet::new();
    let mut names = Vec::new();
    for table in elf.tables() {
        for symbol in elf.symbols(table) {
            if let Some(is_defined) = symbol.is_defined
                && !symbol.name.is_empty()
                && known.insert((symbol.name, is_defined))
            {
                let shown = demangle(&String::from_utf8_lossy(symbol.name)).into_owned();
                names.push(SymbolName { raw: symbol.name.to_vec(), shown, is_defined });
            }
        }
    }
    Some(names)
}

/// Gives the file with other names. A symbol whose name is not among them has none, so nothing is left of the old strings. Everything
/// stays at its place; strings that need more room than the old ones go to the end.
pub fn renamed(file: &[u8], names: &HashMap<Vec<u8>, Vec<u8>>) -> Option<Vec<u8>> {
    let elf = Elf::open(file)?;
    let mut made = file.to_vec();
    let mut strings: BTreeMap<usize, Strings> = BTreeMap::new();
    for table in elf.tables() {
        let of_table = strings.entry(elf.sections[table].link).or_default();
        for symbol in elf.symbols(table) {
            let name = names.get(symbol.name).filter(|_| symbol.is_defined.is_some());
            elf.put32(&mut made, symbol.at, of_table.place(name.map(Vec::as_slice).unwrap_or_default()))?;
        }
    }
    for (index, mut new) in strings {
        if index == elf.names {
            for section in &elf.sections {
                elf.put32(&mut made, section.at, new.place(elf.name(section)))?;
            }
        }
        let section = elf.sections.get(index)?;
        let old = made.get_mut(section.range.clone())?;
        old.fill(0);
        if let Some(place) = old.get_mut(..new.bytes.len()) {
            place.copy_from_slice(&new.bytes);
        } else {
            let (offset, size) = (made.len() as u64, new.bytes.len() as u64);
            made.extend_from_slice(&new.bytes);
            elf.put_place(&mut made, section.at, offset, size)?;
        }
    }
    Some(made)
}

/// Strings of a new table. At its begin is the empty one.
struct Strings {
    bytes: Vec<u8>,
    places: HashMap<Vec<u8>, u32>,
}

impl Default for Strings {
    fn default() -> Strings {
        Strings { bytes: vec![0], places: HashMap::from([(Vec::new(), 0)]) }
    }
}

impl Strings {
    fn place(&mut self, name: &[u8]) -> u32 {
        if let Some(&place) = self.places.get(name) {
            return place;
        }
        // A table of 4 GiB has no room for more.
        let Ok(place) = u32::try_from(self.bytes.len()) else { return 0 };
        self.bytes.extend_from_slice(name);
        self.bytes.push(0);
        self.places.insert(name.to_vec(), place);
        place
    }
}

struct Section {
    /// The place of its header.
    at: usize,
    name: usize,
    kind: u32,
    flags: u64,
    /// Its bytes.
    range: Range<usize>,
    link: usize,
}

struct Symbol<'a> {
    /// The place of the number of its name.
    at: usize,
    name: &'a [u8],
    /// `None`: it names no code.
    is_defined: Option<bool>,
}

struct Elf<'a> {
    file: &'a [u8],
    order: ByteOrder,
    is_wide: bool,
    is_arm: bool,
    sections: Vec<Section>,
    /// The number of the section with the names of sections.
    names: usize,
}

impl<'a> Elf<'a> {
    /// Reads the headers of sections; `None` where it is no ELF file, is damaged or is more than tables.
    fn open(file: &'a [u8]) -> Option<Elf<'a>> {
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
        if size != if is_wide { 64 } else { 40 } || count == 0 || count >= RESERVED || elf.names >= count {
            return None;
        }
        elf.sections = (0..count).map(|index| elf.section(begin.checked_add(index * size)?)).collect::<Option<_>>()?;
        elf.sections.iter().all(|section| elf.is_table(section)).then_some(elf)
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
        section.range.is_empty()
            || section.flags & (COMPRESSED | EXECUTED) == 0
                && (TABLES.contains(&section.kind) || NAMELESS.contains(&self.name(section)))
    }

    fn name(&self, section: &Section) -> &'a [u8] {
        self.string(self.names, section.name)
    }

    fn string(&self, table: usize, at: usize) -> &'a [u8] {
        let bytes = self.sections.get(table).and_then(|section| self.file.get(section.range.clone()));
        let rest = bytes.and_then(|bytes| bytes.get(at..)).unwrap_or_default();
        &rest[..rest.iter().position(|&byte| byte == 0).unwrap_or(0)]
    }

    /// The numbers of the tables of symbols whose strings are here.
    fn tables(&self) -> impl Iterator<Item = usize> + '_ {
        let all = self.sections.iter().enumerate();
        all.filter(|(_, section)| matches!(section.kind, SYMTAB | DYNSYM))
            .filter(|(_, section)| self.sections.get(section.link).is_some_and(|of| of.kind == STRTAB))
            .map(|(index, _)| index)
    }

    fn symbols(&self, table: usize) -> impl Iterator<Item = Symbol<'a>> + '_ {
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

    fn put32(&self, made: &mut [u8], at: usize, value: u32) -> Option<()> {
        let bytes = match self.order {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        };
        made.get_mut(at..at + 4)?.copy_from_slice(&bytes);
        Some(())
    }

    /// Writes where a section lies, and its size.
    fn put_place(&self, made: &mut [u8], header: usize, offset: u64, size: u64) -> Option<()> {
        for (wide, narrow, value) in [(24, 16, offset), (32, 20, size)] {
            if !self.is_wide {
                self.put32(made, header + narrow, u32::try_from(value).ok()?)?;
                continue;
            }
            let bytes = match self.order {
                ByteOrder::Little => value.to_le_bytes(),
                ByteOrder::Big => value.to_be_bytes(),
            };
            made.get_mut(header + wide..header + wide + 8)?.copy_from_slice(&bytes);
        }
        Some(())
    }
}

/// Tells whether a name marks kinds of bytes and no function, as `$x.7` does on ARM.
fn is_marker(name: &[u8]) -> bool {
    matches!(name, [b'$', b'a' | b'd' | b't' | b'x'] | [b'$', b'a' | b'd' | b't' | b'x', b'.', ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: usize = 64;
    const CODE: u64 = 2 | EXECUTED;

    /// A file of sections: name, type, flags, link, bytes. The names of sections are in the last one, or in `shared`.
    fn file(sections: &[(&str, u32, u64, u32, &[u8])], shared: Option<usize>) -> Vec<u8> {
        let mut bytes = vec![0; HEAD];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        let mut strings: Vec<u8> = shared.map_or(vec![0], |index| sections[index - 1].4.to_vec());
        let places: Vec<u32> = sections
            .iter()
            .map(|section| {
                strings.extend_from_slice(section.0.as_bytes());
                strings.push(0);
                (strings.len() - section.0.len() - 1) as u32
            })
            .collect();
        let mut headers = vec![0; 64];
        let mut all: Vec<_> = sections.to_vec();
        if let Some(index) = shared {
            all[index - 1].4 = &strings;
        } else {
            all.push(("", STRTAB, 0, 0, &strings));
        }
        for (index, (_, kind, flags, link, data)) in all.iter().enumerate() {
            let mut header = [0; 64];
            header[..4].copy_from_slice(&places.get(index).copied().unwrap_or(0).to_le_bytes());
            header[4..8].copy_from_slice(&kind.to_le_bytes());
            header[8..16].copy_from_slice(&flags.to_le_bytes());
            header[24..32].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
            header[32..40].copy_from_slice(&(data.len() as u64).to_le_bytes());
            header[40..44].copy_from_slice(&link.to_le_bytes());
            headers.extend_from_slice(&header);
            if *kind != NOBITS {
                bytes.extend_from_slice(data);
            }
        }
        let at = bytes.len() as u64;
        bytes[40..48].copy_from_slice(&at.to_le_bytes());
        let names = shared.unwrap_or(all.len()) as u16;
        for (place, value) in [(58, 64), (60, all.len() as u16 + 1), (62, names)] {
            bytes[place..place + 2].copy_from_slice(&value.to_le_bytes());
        }
        bytes.extend_from_slice(&headers);
        bytes
    }

    fn symbols(of: &[(u32, u16)]) -> Vec<u8> {
        let one = |&(name, section): &(u32, u16)| {
            let mut symbol = [0; 24];
            symbol[..4].copy_from_slice(&name.to_le_bytes());
            symbol[6..8].copy_from_slice(&section.to_le_bytes());
            symbol
        };
        of.iter().flat_map(one).collect()
    }

    /// `charge` is the end of `acme_charge`, as linkers write it; `ledger` is data.
    fn table(shared: Option<usize>) -> Vec<u8> {
        let symtab = symbols(&[(0, 0), (1, 1), (6, 1), (13, 2), (20, 1), (0, 1)]);
        let dynsym = symbols(&[(0, 0), (1, 0), (6, 0)]);
        file(
            &[
                (".text", NOBITS, CODE, 0, &[0; 16]),
                (".data", NOBITS, 3, 0, &[]),
                (".symtab", SYMTAB, 0, 4, &symtab),
                (".strtab", STRTAB, 0, 0, b"\0acme_charge\0ledger\0_ZN4acme3payEi\0"),
                (".dynsym", DYNSYM, 2, 6, &dynsym),
                (".dynstr", STRTAB, 2, 0, b"\0open\0acme_charge\0libacme.so\0"),
            ],
            shared,
        )
    }

    fn shown(file: &[u8]) -> Vec<(String, bool)> {
        symbol_names(file).unwrap().into_iter().map(|name| (name.shown, name.is_defined)).collect()
    }

    #[test]
    fn names_of_code_and_of_calls_are_read() {
        let expected = [("acme_charge", true), ("charge", true), ("acme::pay", true), ("open", false)];
        let mut expected: Vec<_> = expected.map(|(name, is)| (name.to_owned(), is)).into();
        expected.push(("acme_charge".into(), false));
        assert_eq!(shown(&table(None)), expected);
        assert_eq!(shown(&table(Some(4))), expected);
    }

    #[test]
    fn other_names_take_their_place_and_nothing_is_left_of_the_old_ones() {
        for shared in [None, Some(4)] {
            let file = table(shared);
            for long in ["", "-and-much-longer-than-what-was-there-before"] {
                let pairs = [
                    ("acme_charge", "k3x9q2m1zz7"),
                    ("charge", "w8d3e1"),
                    ("_ZN4acme3payEi", "p0q1r2s3t"),
                    ("open", "open"),
                ];
                let names = pairs.map(|(from, to)| (from.as_bytes().to_vec(), format!("{to}{long}").into_bytes()));
                let made = renamed(&file, &names.into()).unwrap();
                let expected = [
                    ("k3x9q2m1zz7", true),
                    ("w8d3e1", true),
                    ("p0q1r2s3t", true),
                    ("open", false),
                    ("k3x9q2m1zz7", false),
                ];
                assert_eq!(shown(&made), expected.map(|(name, is)| (format!("{name}{long}"), is)));
                for gone in ["acme", "charge", "ledger", "_ZN", "libacme"] {
                    assert!(!made.windows(gone.len()).any(|bytes| bytes == gone.as_bytes()), "{gone}");
                }
                let (elf, before) = (Elf::open(&made).unwrap(), Elf::open(&file).unwrap());
                assert_eq!(elf.sections.len(), before.sections.len());
                assert!(elf.sections.iter().zip(&before.sections).all(|(a, b)| elf.name(a) == before.name(b)));
                assert_eq!(long.is_empty(), made.len() == file.len());
            }
        }
    }

    #[test]
    fn programs_and_packed_names_are_left_alone() {
        let strings: &[u8] = b"\0f\0";
        let symtab = symbols(&[(0, 0), (1, 1)]);
        for (name, kind, flags) in [
            (".text", 1, CODE),
            (".gnu_debugdata", 1, 0),
            (".debug_str", 1, 0),
            (".rodata", 1, 2),
            (".note", 7, COMPRESSED),
        ] {
            let sections = [
                (name, kind, flags, 0, &[1u8; 8][..]),
                (".symtab", SYMTAB, 0, 3, &symtab[..]),
                (".strtab", STRTAB, 0, 0, strings),
            ];
            assert_eq!(symbol_names(&file(&sections, None)), None, "{name}");
            assert_eq!(renamed(&file(&sections, None), &HashMap::new()), None, "{name}");
        }
        assert_eq!(symbol_names(b"\x7fELF"), None);
        assert_eq!(symbol_names(b""), None);
    }

    #[test]
    fn damaged_files_crash_nothing() {
        let file = table(None);
        let mut state = 7u32;
        let mut random = |below: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % below
        };
        for _ in 0..4000 {
            let mut bytes = file.clone();
            for _ in 0..4 {
                let at = random(bytes.len());
                bytes[at] = [0, 1, 0x7f, 0xff, random(256) as u8][random(5)];
            }
            bytes.truncate(if random(3) == 0 { random(bytes.len()) } else { bytes.len() });
            let names = symbol_names(&bytes);
            let made = renamed(&bytes, &HashMap::from([(b"charge".to_vec(), b"w8d3e1".to_vec())]));
            assert!(names.is_some() || made.is_none());
        }
    }
}
