//! Converts recorded addresses to the addresses of an object's file.

use object::{Object as _, ObjectSection as _, ObjectSegment as _, ObjectSymbol as _};

use crate::relocatable;

/// The meaning of the addresses that a capture has for an object.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Placement {
    /// Offsets in its file.
    #[default]
    File,
    /// Addresses in memory of a kernel module.
    Module {
        /// The address of its first section of code.
        text: u64,
    },
    /// Addresses in memory of a kernel, which each boot may load at another address.
    Kernel {
        /// One of its symbols, `_text` or `_stext`.
        symbol: String,
        /// The address of that symbol in memory.
        address: u64,
    },
}

/// How recorded addresses become the addresses of the symbols in a file.
pub(crate) enum Layout {
    /// By the program headers.
    Segments(Vec<Segment>),
    /// By the only section of a module whose place is known: its address and its size in bytes.
    Section(Option<(u64, u64)>),
    /// By a number that is added to each address.
    Shift(Option<u64>),
}

impl Layout {
    pub(crate) fn of(file: &object::File<'_>, placement: &Placement) -> Layout {
        match placement {
            _ if relocatable::is(file) => {
                let Placement::Module { text } = *placement else { return Layout::Section(None) };
                Layout::Section(relocatable::text(file).map(|section| (text, section.size)))
            }
            Placement::File => Layout::Segments(segments(file)),
            Placement::Module { .. } => Layout::Section(None),
            Placement::Kernel { symbol, address } => {
                let linked = file.symbols().find(|known| known.name_bytes() == Ok(symbol.as_bytes()));
                Layout::Shift(linked.map(|known| known.address().wrapping_sub(*address)))
            }
        }
    }

    pub(crate) fn is_kernel(&self) -> bool {
        matches!(self, Layout::Shift(_))
    }

    /// Tells whether the file is mapped as it is: that of a program or a library.
    pub(crate) fn is_of_program(&self) -> bool {
        matches!(self, Layout::Segments(_))
    }

    pub(crate) fn is_relocatable(&self) -> bool {
        matches!(self, Layout::Section(_))
    }

    /// Gives the address that symbols and debug information have for a recorded address.
    pub(crate) fn virtual_address(&self, address: u64) -> Result<u64, &'static str> {
        match self {
            Layout::Segments(segments) => virtual_address(segments, address),
            Layout::Section(section) => {
                let into = section.and_then(|(text, size)| address.checked_sub(text).filter(|&into| into < size));
                into.ok_or("only .text of a module is placed")
            }
            Layout::Shift(shift) => {
                shift.map(|shift| address.wrapping_add(shift)).ok_or("the file does not say where it is loaded")
            }
        }
    }
}

/// A loaded part of a file: offset and size in the file, and address.
pub(crate) struct Segment {
    offset: u64,
    size: u64,
    address: u64,
    is_code: bool,
}

fn segments(file: &object::File<'_>) -> Vec<Segment> {
    let base = file.segments().next().map_or(0, |first| first.address() & !4095);
    let is_lld = || {
        let comment = file.section_by_name(".comment").and_then(|section| section.data().ok()).unwrap_or_default();
        comment.windows(4).any(|word| word == b"LLD " || word == b"mold")
    };
    let mut segments: Vec<Segment> = file
        .segments()
        .filter_map(|segment| {
            let (offset, size) = segment.file_range();
            let is_code = segment.permissions().executable();
            let (offset, size) = match size {
                // In a file with only debug information the offsets are not those of the program. GNU ld puts code at
                // the same distance from the start in the file and in memory. Other linkers do not, and nothing shows
                // the offset.
                0 if is_code && !is_lld() => (segment.address().wrapping_sub(base), segment.size()),
                _ => (offset, size),
            };
            (size > 0).then_some(Segment { offset, size, address: segment.address(), is_code })
        })
        .collect();
    segments.sort_by_key(|segment| !segment.is_code);
    segments
}

/// Gives the address of a byte of the file by the program headers. Code comes first, because a page at the seam of two
/// segments is mapped by both.
fn virtual_address(segments: &[Segment], offset: u64) -> Result<u64, &'static str> {
    let exact = segments.iter().find(|s| offset.checked_sub(s.offset).is_some_and(|into| into < s.size));
    // The mapping behind the end of a segment is the rest of its last page.
    let page = 4095u64;
    let in_page =
        || segments.iter().find(|s| offset >= s.offset & !page && offset < s.offset.saturating_add(s.size) | page);
    let segment = exact.or_else(in_page).ok_or("no symbol covers the address")?;
    Ok(offset.wrapping_sub(segment.offset).wrapping_add(segment.address))
}
