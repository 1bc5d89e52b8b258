//! Names of functions in a table-only ELF file (`schema/README.md`, symbols): read, and replaced by others.

use std::collections::{BTreeMap, HashMap, HashSet};

use perfcase_symbols::{demangle, xz};

use crate::elf::Elf;

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
    let elf = Elf::of_tables(file)?;
    let mut names = names_in(&elf);
    if let Some(small) = unpacked(&elf)? {
        names.extend(names_in(&small_one(&small)?));
    }
    Some(names)
}

/// Gives those names of any file that can be read, whatever else it has.
pub fn some_names(file: &[u8]) -> Vec<SymbolName> {
    let Some(elf) = Elf::open(file) else { return Vec::new() };
    let mut names = names_in(&elf);
    if let Some(small) = unpacked(&elf).flatten() {
        names.extend(Elf::open(&small).iter().flat_map(names_in));
    }
    names
}

fn names_in(elf: &Elf<'_>) -> Vec<SymbolName> {
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
    names
}

/// Gives the small ELF file of `.gnu_debugdata`, if there is one; outer `None` where it cannot be unpacked.
fn unpacked(elf: &Elf<'_>) -> Option<Option<Vec<u8>>> {
    elf.packed().map_or(Some(None), |section| xz::unpack(&elf.file[section.range.clone()]).map(Some))
}

/// The small file, if it has tables alone and not one more in it.
fn small_one(file: &[u8]) -> Option<Elf<'_>> {
    Elf::of_tables(file).filter(|small| small.packed().is_none())
}

/// Gives the file with other names. A symbol whose name is not among them has none, and only headers and numbers are copied, so nothing
/// is left of the old text. Everything stays at its place; what needs more room than before goes to the end.
pub fn renamed(file: &[u8], names: &HashMap<Vec<u8>, Vec<u8>>) -> Option<Vec<u8>> {
    let elf = Elf::of_tables(file)?;
    let small = unpacked(&elf)?;
    let mut made = elf.numbers();
    for section in elf.sections.iter().filter(|section| !section.range.is_empty() && !elf.is_kept(section)) {
        elf.put(&mut made, section, &[])?;
    }
    let mut strings = BTreeMap::from([(elf.names, Strings::default())]);
    for table in elf.tables() {
        let of_table = strings.entry(elf.sections[table].link).or_default();
        for symbol in elf.symbols(table) {
            let name = names.get(symbol.name).filter(|_| symbol.is_defined.is_some());
            elf.put32(&mut made, symbol.at, of_table.place(name.map(Vec::as_slice).unwrap_or_default()))?;
        }
    }
    for section in &elf.sections {
        elf.put32(&mut made, section.at, strings.get_mut(&elf.names)?.place(elf.kept_name(section)))?;
    }
    for (index, new) in strings {
        let section = elf.sections.get(index)?;
        // An empty table has the empty string only.
        if !section.range.is_empty() || new.bytes.len() > 1 {
            elf.put(&mut made, section, &new.bytes)?;
        }
    }
    if let (Some(section), Some(small)) = (elf.packed(), small) {
        small_one(&small)?;
        elf.put(&mut made, section, &xz::pack(&renamed(&small, names)?))?;
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

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
