//! The code of functions, and the source lines in it.

use object::{Object as _, ObjectSection as _};

use crate::dwarf::Lines;
use crate::names::{At, Name};
use crate::placement::Layout;
use crate::symtab::Symtab;

/// The most bytes of one function: a bound for hostile input.
const MOST_FUNCTION_BYTES: u64 = 1 << 20;

/// The most bytes of all functions of one object.
const MOST_OBJECT_BYTES: u64 = 64 << 20;

/// The most lines of one function.
const MOST_LINES: usize = 1 << 16;

/// A function with its bytes, where they are at hand.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Code {
    /// Where it begins, as the capture counts addresses of the object.
    pub address: u64,
    /// Its name.
    pub symbol: String,
    /// Its length.
    pub size_bytes: u64,
    /// The instruction set.
    pub machine: String,
    /// Its bytes, or why there are none.
    pub bytes: Result<Vec<u8>, String>,
    /// Where its source lines begin.
    pub lines: Vec<Line>,
}

impl Code {
    /// Gives a function of which nothing is known.
    pub fn none() -> Code {
        let (symbol, machine) = Default::default();
        Code { address: 0, symbol, size_bytes: 0, machine, bytes: Err(String::new()), lines: Vec::new() }
    }
}

/// The begin of a source line's code.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Line {
    /// The address, as the capture counts it.
    pub address: u64,
    /// The source file.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u32>,
}

/// Tells whether a file has symbols of code, but not the code.
pub(crate) fn is_missing(content: &[u8]) -> bool {
    object::File::parse(content).is_ok_and(|file| file.sections().any(|it| is_code(&it) && it.file_range().is_none()))
}

fn is_code(section: &object::Section<'_, '_>) -> bool {
    matches!(section.flags(), object::SectionFlags::Elf { sh_flags, .. } if sh_flags.0 & object::elf::SHF_EXECINSTR.0 != 0)
}

/// Gives the functions that have one of these instructions; `whole` is the file with the code. Only files of programs and libraries have code here: a
/// kernel changes its own when it starts.
pub(crate) fn functions(
    whole: &object::File<'_>,
    layout: &Layout,
    symtab: &mut Symtab<'_>,
    lines: Option<&Lines<'_>>,
    named: impl Iterator<Item = (At, Name)>,
) -> Vec<Code> {
    if !layout.is_of_program() {
        return Vec::new();
    }
    let machine = machine(whole.architecture());
    let mut found: std::collections::BTreeMap<u64, Code> = std::collections::BTreeMap::new();
    let mut room = MOST_OBJECT_BYTES;
    for (at, name) in named {
        // A caller alone has no samples of its own.
        let (Some(offset), false) = (name.offset_bytes, at.is_return) else { continue };
        let Some(address) = at.address.checked_sub(offset) else { continue };
        if found.contains_key(&address) {
            continue;
        }
        let Some(start) = layout.virtual_address(at.address).ok().and_then(|place| place.checked_sub(offset)) else {
            continue;
        };
        let Some(end) = symtab.end(start).filter(|end| *end > start) else { continue };
        let size_bytes = end - start;
        let bytes = bytes(whole, start, size_bytes, room).map_err(str::to_string);
        room -= bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        let until = start.saturating_add(size_bytes.min(MOST_FUNCTION_BYTES));
        let ranges = lines.map_or(Vec::new(), |lines| lines.between(start, until, MOST_LINES));
        let lines = begins(&ranges, start, until)
            .into_iter()
            .map(|(place, file, line)| Line { address: address.wrapping_add(place - start), file, line })
            .collect();
        found.insert(
            address,
            Code { address, symbol: name.symbol, size_bytes, machine: machine.to_string(), bytes, lines },
        );
    }
    found.into_values().collect()
}

/// A range of addresses, its begin and its length, and the line that it comes from.
pub(crate) type Range = (u64, u64, Option<String>, Option<u32>);

/// Gives where another line begins. What no range covers comes from no line.
fn begins(ranges: &[Range], start: u64, until: u64) -> Vec<(u64, Option<String>, Option<u32>)> {
    let mut found: Vec<(u64, Option<String>, Option<u32>)> = Vec::new();
    let mut push = |place: u64, file: Option<String>, line: Option<u32>| {
        if found.last().is_none_or(|last| (&last.1, last.2) != (&file, line)) {
            found.push((place, file, line));
        }
    };
    let mut done = start;
    for (begin, length, file, line) in ranges {
        let end = begin.saturating_add(*length).min(until);
        if end <= done {
            continue;
        }
        if *begin > done {
            push(done, None, None);
        }
        push((*begin).max(done), file.clone(), *line);
        done = end;
    }
    if done < until && !ranges.is_empty() {
        push(done, None, None);
    }
    found
}

fn bytes(main: &object::File<'_>, start: u64, size: u64, room: u64) -> Result<Vec<u8>, &'static str> {
    if size > MOST_FUNCTION_BYTES {
        return Err("longer than 1 MiB");
    }
    if size > room {
        return Err("more code than an object may have");
    }
    let covers = |section: &object::Section<'_, '_>| {
        start.checked_sub(section.address()).is_some_and(|into| into < section.size()) && is_code(section)
    };
    let section = main.sections().find(covers).ok_or("code outside its section")?;
    if section.file_range().is_none() {
        return Err("symbol tables only");
    }
    match section.data_range(start, size) {
        Ok(Some(bytes)) => Ok(bytes.to_vec()),
        _ => Err("code outside its section"),
    }
}

fn machine(architecture: object::Architecture) -> &'static str {
    use object::Architecture;
    match architecture {
        Architecture::X86_64 => "x86-64",
        Architecture::I386 => "i386",
        Architecture::Aarch64 => "aarch64",
        Architecture::Arm => "arm",
        Architecture::Riscv64 => "riscv64",
        Architecture::S390x => "s390x",
        Architecture::PowerPc64 => "ppc64",
        Architecture::LoongArch64 => "loongarch64",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(begin: u64, length: u64, line: u32) -> Range {
        (begin, length, Some("a.c".to_string()), Some(line))
    }

    #[test]
    fn gaps_overlaps_and_repeats() {
        let lines = |ranges: &[Range]| -> Vec<(u64, Option<u32>)> {
            begins(ranges, 10, 40).into_iter().map(|(place, _, line)| (place, line)).collect()
        };
        assert_eq!(lines(&[]), []);
        assert_eq!(lines(&[range(10, 30, 1)]), [(10, Some(1))]);
        assert_eq!(lines(&[range(12, 4, 1), range(16, 4, 1)]), [(10, None), (12, Some(1)), (20, None)]);
        assert_eq!(lines(&[range(0, 20, 1), range(15, 25, 2)]), [(10, Some(1)), (20, Some(2))]);
        assert_eq!(lines(&[range(10, u64::MAX, 1), range(11, 2, 2)]), [(10, Some(1))]);
    }
}
