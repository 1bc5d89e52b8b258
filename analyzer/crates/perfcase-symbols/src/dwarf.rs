//! Inlined functions and source lines, where an object has its debug information.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use addr2line::{LookupContinuation as _, LookupResult, gimli};
use hashbrown::HashMap;
use object::{Object as _, ObjectSection as _};

use crate::demangle::demangle;
use crate::guard::{Floor, Guarded};

/// Most bytes that the compressed sections of an object may unpack to, all together, for each of their bytes: debug
/// information compresses to a fifth or so.
const MOST_RATIO: u64 = 32;
/// What they may unpack to however small they are.
const LEAST_ROOM_BYTES: u64 = 16 << 20;
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

/// The debug information of one object.
pub(crate) struct Dwarf<'a> {
    sections: Sections<'a>,
    endian: gimli::RunTimeEndian,
    /// What it shares with other programs.
    shared: Option<Sections<'a>>,
    /// Its .dwo files by the ids of their units.
    split: HashMap<u64, Sections<'a>>,
    package: Option<gimli::DwarfPackageSections<Cow<'a, [u8]>>>,
}

type Sections<'a> = gimli::DwarfSections<Cow<'a, [u8]>>;
pub(crate) type Reader<'s> = gimli::EndianSlice<'s, gimli::RunTimeEndian>;

impl<'a> Dwarf<'a> {
    /// Unpacks the sections; `None` where there is no debug information.
    pub(crate) fn load(file: &object::File<'a>) -> Option<Dwarf<'a>> {
        Dwarf::named(file, |id| Some(id.name()))
    }

    /// The same of a .dwo file.
    pub(crate) fn load_split(file: &object::File<'a>) -> Option<Dwarf<'a>> {
        Dwarf::named(file, gimli::SectionId::dwo_name)
    }

    fn named(file: &object::File<'a>, name: impl Fn(gimli::SectionId) -> Option<&'static str>) -> Option<Dwarf<'a>> {
        let info = name(gimli::SectionId::DebugInfo)?;
        file.section_by_name(info).filter(|section| section.file_range().is_some())?;
        let room = Cell::new(LEAST_ROOM_BYTES);
        let sections = gimli::DwarfSections::load(|id| section(file, name(id), &room)).ok()?;
        let endian = if file.is_little_endian() { gimli::RunTimeEndian::Little } else { gimli::RunTimeEndian::Big };
        Some(Dwarf { sections, endian, shared: None, split: HashMap::new(), package: None })
    }

    /// True where parts of it may lie in .dwo files.
    pub(crate) fn may_be_split(&self) -> bool {
        use gimli::Section as _;
        !self.sections.debug_addr.borrow(|bytes| self.reader(bytes)).reader().is_empty()
    }

    /// Adds what other programs share with this one.
    pub(crate) fn add_shared(&mut self, file: &object::File<'a>) {
        self.shared = Dwarf::load(file).map(|shared| shared.sections);
    }

    /// Adds a .dwo file whose unit has this id.
    pub(crate) fn add_split(&mut self, id: u64, file: &object::File<'a>) {
        if let Some(split) = Dwarf::load_split(file) {
            self.split.insert(id, split.sections);
        }
    }

    /// Adds a .dwp file.
    pub(crate) fn add_package(&mut self, file: &object::File<'a>) {
        let room = Cell::new(LEAST_ROOM_BYTES);
        self.package = gimli::DwarfPackageSections::load(|id| section(file, id.dwo_name(), &room)).ok();
    }

    fn reader<'s>(&self, bytes: &'s [u8]) -> Reader<'s> {
        gimli::EndianSlice::new(bytes, self.endian)
    }

    fn guarded<'s>(&self, bytes: &'s [u8], floor: Floor) -> Guarded<'s> {
        Guarded::new(bytes, self.endian, floor)
    }

    /// Hands what gimli makes of the sections to `look`.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&gimli::Dwarf<Reader<'_>>) -> R) -> R {
        look(&self.sections.borrow(|bytes| self.reader(bytes)))
    }

    /// Hands the parsed information to `look`.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&Lines<'_>) -> R) -> Option<R> {
        let floor = Floor::from_here();
        let dwarf = self.sections.borrow_with_sup(self.shared.as_ref(), |bytes| self.guarded(bytes, floor));
        let context = addr2line::Context::from_dwarf(dwarf).ok()?;
        let package = self.package.as_ref();
        let package =
            package.and_then(|it| it.borrow(|bytes| self.guarded(bytes, floor), self.guarded(&[], floor)).ok());
        Some(look(&Lines { context, package, source: self, floor }))
    }
}

fn section<'a>(file: &object::File<'a>, name: Option<&str>, room: &Cell<u64>) -> Result<Cow<'a, [u8]>, gimli::Error> {
    let found = name.and_then(|name| file.section_by_name(name));
    Ok(found.and_then(|section| section_data(&section, room)).unwrap_or_default())
}

fn section_data<'a>(section: &object::Section<'a, '_>, room: &Cell<u64>) -> Option<Cow<'a, [u8]>> {
    let packed = section.compressed_data().ok()?;
    if packed.format != object::CompressionFormat::None {
        let more = (packed.data.len() as u64).saturating_mul(MOST_RATIO);
        room.set(room.get().saturating_add(more).checked_sub(packed.uncompressed_size)?);
    }
    packed.decompress().ok()
}

/// Debug information that can be asked.
pub(crate) struct Lines<'s> {
    context: addr2line::Context<Guarded<'s>>,
    package: Option<gimli::DwarfPackage<Guarded<'s>>>,
    source: &'s Dwarf<'s>,
    floor: Floor,
}

impl<'s> Lines<'s> {
    /// What is at an address, the innermost inlined function first; the last is the function itself.
    pub(crate) fn at(&self, address: u64) -> Vec<Place> {
        let mut places = Vec::new();
        let mut lookup = self.context.find_frames(address);
        let frames = loop {
            match lookup {
                LookupResult::Output(frames) => break frames,
                LookupResult::Load { load, continuation } => lookup = continuation.resume(self.split_unit(&load)),
            }
        };
        let Ok(mut frames) = frames else { return places };
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

    /// The unit that a program has in a .dwo or .dwp file: only ever the one of the id that the program states.
    fn split_unit(&self, load: &addr2line::SplitDwarfLoad<Guarded<'s>>) -> Option<Arc<gimli::Dwarf<Guarded<'s>>>> {
        if let Some(package) = &self.package
            && let Ok(Some(unit)) = package.find_cu(load.dwo_id, &load.parent)
        {
            return Some(Arc::new(unit));
        }
        let sections = self.source.split.get(&load.dwo_id.0)?;
        let mut unit = sections.borrow(|bytes| self.source.guarded(bytes, self.floor));
        unit.make_dwo(&load.parent);
        Some(Arc::new(unit))
    }
}
