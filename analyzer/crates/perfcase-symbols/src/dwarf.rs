//! Inlined functions and source lines, where an object has its debug information.

use std::borrow::Cow;

use addr2line::gimli;
use object::{Object as _, ObjectSection as _};

use crate::demangle::demangle;

/// Most bytes that one section may unpack to.
const MOST_SECTION_BYTES: u64 = 1 << 30;
/// No compression of debug information comes near this.
const MOST_RATIO: u64 = 4096;
/// Inlined functions at one address that are listed.
const MOST_INLINED: usize = 64;

/// A function at an address and the line in it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Place {
    /// Its name, where the debug information has it.
    pub function: Option<String>,
    /// Source file.
    pub file: Option<String>,
    /// Line.
    pub line: Option<u32>,
}

/// The debug information of one file.
pub(crate) struct Dwarf<'a> {
    sections: gimli::DwarfSections<Cow<'a, [u8]>>,
    endian: gimli::RunTimeEndian,
}

type Reader<'s> = gimli::EndianSlice<'s, gimli::RunTimeEndian>;

impl<'a> Dwarf<'a> {
    /// Unpacks the sections; `None` where there is no debug information.
    pub(crate) fn load(file: &object::File<'a>) -> Option<Dwarf<'a>> {
        file.section_by_name(".debug_info").filter(|section| section.file_range().is_some())?;
        let section = |id: gimli::SectionId| -> Result<Cow<'a, [u8]>, gimli::Error> {
            let found = file.section_by_name(id.name());
            Ok(found.and_then(|section| section_data(&section)).unwrap_or_default())
        };
        let sections = gimli::DwarfSections::load(section).ok()?;
        let endian = if file.is_little_endian() { gimli::RunTimeEndian::Little } else { gimli::RunTimeEndian::Big };
        Some(Dwarf { sections, endian })
    }

    /// Hands the parsed information to `look`.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&Lines<'_>) -> R) -> Option<R> {
        let dwarf = self.sections.borrow(|section| gimli::EndianSlice::new(section, self.endian));
        let context = addr2line::Context::from_dwarf(dwarf).ok()?;
        Some(look(&Lines { context }))
    }
}

fn section_data<'a>(section: &object::Section<'a, '_>) -> Option<Cow<'a, [u8]>> {
    let packed = section.compressed_data().ok()?;
    let size = packed.uncompressed_size;
    if packed.format != object::CompressionFormat::None
        && (size > MOST_SECTION_BYTES || size / MOST_RATIO > packed.data.len() as u64)
    {
        return None;
    }
    packed.decompress().ok()
}

/// Debug information that can be asked.
pub(crate) struct Lines<'s> {
    context: addr2line::Context<Reader<'s>>,
}

impl Lines<'_> {
    /// What is at an address, the innermost inlined function first; the last is the function itself.
    pub(crate) fn at(&self, address: u64) -> Vec<Place> {
        let mut places = Vec::new();
        let Ok(mut frames) = self.context.find_frames(address).skip_all_loads() else { return places };
        while let Ok(Some(frame)) = frames.next() {
            if places.len() > MOST_INLINED {
                break;
            }
            let raw = frame.function.as_ref().and_then(|function| function.raw_name().ok());
            places.push(Place {
                function: raw.map(|name| demangle(&name).into_owned()),
                file: frame.location.as_ref().and_then(|location| location.file).map(str::to_string),
                line: frame.location.as_ref().and_then(|location| location.line).filter(|&line| line > 0),
            });
        }
        places
    }
}
