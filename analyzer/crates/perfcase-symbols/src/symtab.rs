//! Functions of an ELF file by address. Among aliases the choice is that of perf.

use std::borrow::Cow;
use std::collections::HashMap;

use object::elf;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, ObjectSymbolTable as _, SymbolFlags};

use crate::demangle::demangle;
use crate::relocatable;

/// The most start addresses at or below an address that are checked, the nearest first: nested symbols are rare.
const MOST_NESTED: usize = 16;

/// The most symbols of one file: a bound for hostile input.
const MOST_SYMBOLS: usize = 1 << 24;

struct Symbol<'a> {
    address: u64,
    end: u64,
    /// Its type and binding, as in ELF.
    kind: u8,
    binding: u8,
    name: Cow<'a, [u8]>,
    source: &'static str,
}

/// A function that covers an address.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Function {
    pub name: String,
    pub address: u64,
    pub source: &'static str,
}

/// The functions of one or several symbol tables, by address.
#[derive(Default)]
pub(crate) struct Symtab<'a> {
    symbols: Vec<Symbol<'a>>,
    /// By start address: the end of the function that is chosen among those that start there, and the function.
    names: HashMap<u64, (u64, Option<Function>)>,
    is_sorted: bool,
    /// Whether there was any .symtab.
    pub has_symtab: bool,
    /// Whether there was any .dynsym.
    pub has_dynsym: bool,
}

impl<'a> Symtab<'a> {
    /// Adds the tables of a file. `source` is the stated source of the names from its .symtab.
    pub(crate) fn add(&mut self, file: &object::File<'a>, source: &'static str) {
        let mut text: HashMap<usize, bool> =
            file.sections().map(|section| (section.index().0, is_code(&section))).filter(|(_, is)| *is).collect();
        if relocatable::is(file) {
            // The addresses are relative to a section.
            let only = relocatable::text(file).map(|text| text.index.0);
            text.retain(|index, _| Some(*index) == only);
        }
        let machine = file.architecture();
        if let Some(table) = file.symbol_table() {
            self.has_symtab |= self.collect(table.symbols(), &text, machine, source);
        }
        if let Some(table) = file.dynamic_symbol_table() {
            self.has_dynsym |= self.collect(table.symbols(), &text, machine, "dynsym");
        }
        crate::plt::entries(file, |address, size, name| {
            self.push(Symbol {
                address,
                end: address.saturating_add(size),
                kind: elf::STT_FUNC.0,
                binding: elf::STB_GLOBAL.0,
                name: Cow::Owned(name),
                source: "plt",
            });
        });
    }

    fn push(&mut self, symbol: Symbol<'a>) {
        if self.symbols.len() < MOST_SYMBOLS {
            self.symbols.push(symbol);
            self.is_sorted = false;
        }
    }

    fn collect<'f>(
        &mut self,
        symbols: impl Iterator<Item = object::Symbol<'a, 'f>>,
        text: &HashMap<usize, bool>,
        machine: object::Architecture,
        source: &'static str,
    ) -> bool
    where
        'a: 'f,
    {
        use object::Architecture::{Aarch64, Arm};
        let mut any = false;
        for symbol in symbols {
            any = true;
            let SymbolFlags::Elf { st_info, st_other } = symbol.flags() else { continue };
            let (kind, binding) = (elf::SymbolType(st_info.0 & 0xf), st_info.0 >> 4);
            let Ok(name) = symbol.name_bytes() else { continue };
            let in_code = symbol.section_index().is_some_and(|index| text.contains_key(&index.0));
            let is_hidden = matches!(elf::SymbolVisibility(st_other.0 & 3), elf::STV_HIDDEN | elf::STV_INTERNAL);
            let is_wanted = match kind {
                elf::STT_FUNC | elf::STT_GNU_IFUNC | elf::STT_OBJECT => true,
                elf::STT_NOTYPE => !is_hidden,
                _ => false,
            };
            if !is_wanted || !in_code || name.is_empty() || matches!(machine, Arm | Aarch64) && is_marker(name) {
                continue;
            }
            let mut address = symbol.address();
            if machine == Arm && kind == elf::STT_FUNC {
                // The lowest bit marks Thumb code.
                address &= !1;
            }
            let end = address.saturating_add(symbol.size());
            self.push(Symbol { address, end, kind: kind.0, binding, name: Cow::Borrowed(name), source });
        }
        any
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// Sorts the symbols. A symbol without a size reaches to the next one.
    fn prepare(&mut self) {
        self.symbols.sort_by_key(|symbol| symbol.address);
        for index in 0..self.symbols.len() {
            let next = self.symbols.get(index + 1).map(|next| next.address);
            let symbol = &mut self.symbols[index];
            if symbol.end == symbol.address {
                symbol.end = next.unwrap_or_else(|| (symbol.address | 4095).saturating_add(4097));
            }
        }
        self.is_sorted = true;
    }

    /// Gives the end of the function that was found to begin at an address.
    pub(crate) fn end(&self, start: u64) -> Option<u64> {
        self.names.get(&start).filter(|(_, named)| named.is_some()).map(|(end, _)| *end)
    }

    /// Finds the function that covers an address of the file's own address space.
    pub(crate) fn find(&mut self, address: u64) -> Option<Function> {
        if !self.is_sorted {
            self.prepare();
        }
        let mut after = self.symbols.partition_point(|symbol| symbol.address <= address);
        for _ in 0..MOST_NESTED {
            let start = self.symbols.get(after.checked_sub(1)?)?.address;
            let first = self.symbols[..after].partition_point(|symbol| symbol.address < start);
            let group = &self.symbols[first..after];
            // The choice is made once, because any number of symbols may have one address.
            let (end, named) = self.names.entry(start).or_insert_with(|| {
                let Some(best) = group.iter().reduce(|a, b| better(a, b)) else { return (0, None) };
                let name = demangle(&String::from_utf8_lossy(&best.name)).into_owned();
                // The best one may be shorter than another. Only the chosen one counts, as in perf.
                (best.end, Some(Function { name, address: start, source: best.source }))
            });
            if address < *end {
                return named.clone();
            }
            after = first;
        }
        None
    }
}

/// Gives the name that perf prefers of two names of one address: one with a size, with a type, not weak, global, with
/// fewer underscores at the start, longer; otherwise the first.
fn better<'s, 'a>(a: &'s Symbol<'a>, b: &'s Symbol<'a>) -> &'s Symbol<'a> {
    let rank = |s: &Symbol<'_>| {
        let has_size = s.end > s.address;
        (has_size, s.kind != elf::STT_NOTYPE.0, s.binding != elf::STB_WEAK.0, s.binding == elf::STB_GLOBAL.0)
    };
    match rank(a).cmp(&rank(b)) {
        std::cmp::Ordering::Greater => return a,
        std::cmp::Ordering::Less => return b,
        std::cmp::Ordering::Equal if a.name == b.name => return a,
        std::cmp::Ordering::Equal => {}
    }
    let (left, right) = (String::from_utf8_lossy(&a.name), String::from_utf8_lossy(&b.name));
    let (left, right) = (demangle(&left), demangle(&right));
    let underscores = |name: &str| name.bytes().take_while(|&byte| byte == b'_').count();
    match underscores(&right).cmp(&underscores(&left)).then(left.len().cmp(&right.len())) {
        std::cmp::Ordering::Less => b,
        _ => a,
    }
}

/// Tells whether this is a mapping symbol of the ARM ABI ($a, $d, $t, $x), which marks kinds of bytes and no functions.
fn is_marker(name: &[u8]) -> bool {
    matches!(name, [b'$', b'a' | b'd' | b't' | b'x'] | [b'$', b'a' | b'd' | b't' | b'x', b'.', ..])
}

fn is_code(section: &object::Section<'_, '_>) -> bool {
    match section.flags() {
        object::SectionFlags::Elf { sh_flags, .. } => sh_flags.0 & elf::SHF_EXECINSTR.0 != 0,
        _ => false,
    }
}
