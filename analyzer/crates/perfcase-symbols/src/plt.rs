//! Entries of the procedure linkage table, with perf's names: `name@plt`.

use object::read::SymbolIndex;
use object::{Architecture, Object as _, ObjectSection as _, ObjectSymbol as _, ObjectSymbolTable as _};

/// The most entries of a table that are named: a bound for hostile input.
const MOST_ENTRIES: usize = 1 << 20;

/// Calls `add(address, size, name)` for every entry. The n-th relocation of .rela.plt is the n-th entry.
pub(crate) fn entries(file: &object::File<'_>, mut add: impl FnMut(u64, u64, Vec<u8>)) {
    let Some(symbols) = file.dynamic_symbol_table() else { return };
    // If there is a .plt.sec, calls go to it. It has no header.
    let second = file.section_by_name(".plt.sec");
    let Some(plt) = second.as_ref().map_or_else(|| file.section_by_name(".plt"), |_| file.section_by_name(".plt.sec"))
    else {
        return;
    };
    let (header, entry) = match file.architecture() {
        Architecture::Aarch64 => (32, 16),
        Architecture::Arm => (20, 12),
        _ => (16, 16),
    };
    let header = if second.is_some() { 0 } else { header };
    let relocations = [".rela.plt", ".rel.plt"].into_iter().find_map(|name| {
        let section = file.section_by_name(name)?;
        Some((section.data().ok()?, name == ".rela.plt"))
    });
    let Some((data, has_addend)) = relocations else { return };
    let is_little = file.is_little_endian();
    let word = if file.is_64() { 8 } else { 4 };
    let size = if has_addend { 3 * word } else { 2 * word };
    for (index, relocation) in data.chunks_exact(size).take(MOST_ENTRIES).enumerate() {
        let info = relocation[word..2 * word].iter();
        let push = |sum: u64, byte: &u8| (sum << 8) | u64::from(*byte);
        let info = if is_little { info.rev().fold(0, push) } else { info.fold(0, push) };
        let symbol = if word == 8 { info >> 32 } else { info >> 8 };
        let Ok(symbol) = symbols.symbol_by_index(SymbolIndex(symbol as usize)) else { continue };
        let Some(name) = symbol.name_bytes().ok().filter(|name| !name.is_empty()) else { continue };
        let offset = header + index as u64 * entry;
        if offset + entry > plt.size() {
            return;
        }
        let name = crate::demangle::demangle(&String::from_utf8_lossy(name)).into_owned() + "@plt";
        add(plt.address().wrapping_add(offset), entry, name.into_bytes());
    }
}
