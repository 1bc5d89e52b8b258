//! Inlined functions and source lines, for objects with debug information.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use addr2line::{LookupContinuation as _, LookupResult, gimli};
use hashbrown::HashMap;
use object::{Object as _, ObjectSection as _};

use crate::demangle::demangle;
use crate::guard::{Guard, Guarded};

/// The most bytes that all compressed sections of an object together may unpack to, for each of their bytes: debug
/// information compresses to about a fifth.
const MOST_RATIO: u64 = 32;
/// The bytes that they may always unpack to, even if they are small.
const LEAST_ROOM_BYTES: u64 = 16 << 20;
/// The most inlined functions at one address that are listed.
const MOST_INLINED: usize = 64;

/// A function at an address, and the line in it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Place {
    /// Its name; `None` where the debug information does not have it.
    pub function: Option<String>,
    /// The source file.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u32>,
}

/// The debug information of one object.
pub(crate) struct Dwarf<'a> {
    sections: Sections<'a>,
    endian: gimli::RunTimeEndian,
    /// The debug information that it shares with other programs.
    shared: Option<Sections<'a>>,
    /// Its .dwo files by the ids of their units.
    split: HashMap<u64, Sections<'a>>,
    package: Option<gimli::DwarfPackageSections<Cow<'a, [u8]>>>,
    /// The size of all sections, in bytes.
    section_bytes: u64,
    /// A section is missing here, because it is damaged or would unpack to too many bytes.
    is_incomplete: bool,
    guard: Guard,
}

type Sections<'a> = gimli::DwarfSections<Cow<'a, [u8]>>;
pub(crate) type Reader<'s> = gimli::EndianSlice<'s, gimli::RunTimeEndian>;

impl<'a> Dwarf<'a> {
    /// Unpacks the sections; `None` where there is no debug information.
    pub(crate) fn load(file: &object::File<'a>) -> Option<Dwarf<'a>> {
        Dwarf::named(file, |id| Some(id.name()))
    }

    /// Does the same for a .dwo file.
    pub(crate) fn load_split(file: &object::File<'a>) -> Option<Dwarf<'a>> {
        Dwarf::named(file, gimli::SectionId::dwo_name)
    }

    fn named(file: &object::File<'a>, name: impl Fn(gimli::SectionId) -> Option<&'static str>) -> Option<Dwarf<'a>> {
        let info = name(gimli::SectionId::DebugInfo)?;
        file.section_by_name(info).filter(|section| section.file_range().is_some())?;
        let room = Room::default();
        let sections = gimli::DwarfSections::load(|id| room.section(file, name(id))).ok()?;
        let endian = if file.is_little_endian() { gimli::RunTimeEndian::Little } else { gimli::RunTimeEndian::Big };
        let mut dwarf = Dwarf {
            sections,
            endian,
            shared: None,
            split: HashMap::new(),
            package: None,
            section_bytes: 0,
            is_incomplete: false,
            guard: Guard::default(),
        };
        dwarf.count(&room);
        Some(dwarf)
    }

    fn count(&mut self, room: &Room) {
        self.section_bytes = self.section_bytes.saturating_add(room.taken_bytes.get());
        self.is_incomplete |= room.is_refused.get();
    }

    /// Adds the bytes of another file's sections to these, and gives its sections.
    fn join(&mut self, other: Dwarf<'a>) -> Sections<'a> {
        self.section_bytes = self.section_bytes.saturating_add(other.section_bytes);
        self.is_incomplete |= other.is_incomplete;
        other.sections
    }

    /// Tells whether parts of it may be in .dwo files.
    pub(crate) fn may_be_split(&self) -> bool {
        use gimli::Section as _;
        !self.sections.debug_addr.borrow(|bytes| self.reader(bytes)).reader().is_empty()
    }

    /// Adds the debug information that other programs share with this one.
    pub(crate) fn add_shared(&mut self, file: &object::File<'a>) {
        self.shared = Dwarf::load(file).map(|shared| self.join(shared));
    }

    /// Adds a .dwo file whose unit has this id.
    pub(crate) fn add_split(&mut self, id: u64, file: &object::File<'a>) {
        if let Some(split) = Dwarf::load_split(file) {
            let sections = self.join(split);
            self.split.insert(id, sections);
        }
    }

    /// Adds a .dwp file.
    pub(crate) fn add_package(&mut self, file: &object::File<'a>) {
        let room = Room::default();
        self.package = gimli::DwarfPackageSections::load(|id| room.section(file, id.dwo_name())).ok();
        self.count(&room);
    }

    fn reader<'s>(&self, bytes: &'s [u8]) -> Reader<'s> {
        gimli::EndianSlice::new(bytes, self.endian)
    }

    fn guarded<'s>(&'s self, bytes: &'s [u8]) -> Guarded<'s> {
        Guarded::new(bytes, self.endian, &self.guard)
    }

    /// Calls `look` with gimli's form of the sections.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&gimli::Dwarf<Reader<'_>>) -> R) -> R {
        look(&self.sections.borrow(|bytes| self.reader(bytes)))
    }

    /// Calls `look` with the parsed information.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&Lines<'_>) -> R) -> Option<R> {
        self.guard.start(self.section_bytes);
        let dwarf = self.sections.borrow_with_sup(self.shared.as_ref(), |bytes| self.guarded(bytes));
        let context = addr2line::Context::from_dwarf(dwarf).ok()?;
        let package = self.package.as_ref();
        let package = package.and_then(|it| it.borrow(|bytes| self.guarded(bytes), self.guarded(&[])).ok());
        Some(look(&Lines { context, package, source: self }))
    }
}

/// The bytes that the compressed sections of one file may unpack to.
struct Room {
    left_bytes: Cell<u64>,
    taken_bytes: Cell<u64>,
    is_refused: Cell<bool>,
}

impl Default for Room {
    fn default() -> Room {
        Room { left_bytes: Cell::new(LEAST_ROOM_BYTES), taken_bytes: Cell::new(0), is_refused: Cell::new(false) }
    }
}

impl Room {
    fn section<'a>(&self, file: &object::File<'a>, name: Option<&str>) -> Result<Cow<'a, [u8]>, gimli::Error> {
        let Some(section) = name.and_then(|name| file.section_by_name(name)) else { return Ok(Cow::default()) };
        let data = self.unpack(&section);
        self.is_refused.set(self.is_refused.get() || data.is_none());
        let data = data.unwrap_or_default();
        self.taken_bytes.set(self.taken_bytes.get().saturating_add(data.len() as u64));
        Ok(data)
    }

    fn unpack<'a>(&self, section: &object::Section<'a, '_>) -> Option<Cow<'a, [u8]>> {
        let packed = section.compressed_data().ok()?;
        if packed.format != object::CompressionFormat::None {
            let more = (packed.data.len() as u64).saturating_mul(MOST_RATIO);
            let left = self.left_bytes.get().saturating_add(more).checked_sub(packed.uncompressed_size)?;
            self.left_bytes.set(left);
        }
        packed.decompress().ok()
    }
}

/// Debug information for queries.
pub(crate) struct Lines<'s> {
    context: addr2line::Context<Guarded<'s>>,
    package: Option<gimli::DwarfPackage<Guarded<'s>>>,
    source: &'s Dwarf<'s>,
}

impl<'s> Lines<'s> {
    /// Gives the functions at an address, the innermost inlined function first and the function itself last. Also tells
    /// whether that is all: damaged parts and parts beyond the bounds are left out.
    pub(crate) fn at(&self, address: u64) -> (Vec<Place>, bool) {
        let mut places = Vec::new();
        let mut lookup = self.context.find_frames(address);
        let frames = loop {
            match lookup {
                LookupResult::Output(frames) => break frames,
                LookupResult::Load { load, continuation } => lookup = continuation.resume(self.split_unit(&load)),
            }
        };
        let Ok(mut frames) = frames else { return (places, false) };
        let is_all = loop {
            match frames.next() {
                Ok(None) => break !self.source.is_incomplete,
                Ok(Some(frame)) if places.len() <= MOST_INLINED => {
                    let raw = frame.function.as_ref().and_then(|function| function.raw_name().ok());
                    places.push(Place {
                        function: raw.map(|name| demangle(&name).into_owned()),
                        file: frame.location.as_ref().and_then(|location| location.file).map(str::to_string),
                        line: frame.location.as_ref().and_then(|location| location.line).filter(|&line| line > 0),
                    });
                }
                _ => break false,
            }
        };
        (places, is_all)
    }

    /// Gives the ranges of addresses with their source lines, at most so many.
    pub(crate) fn between(&self, start: u64, end: u64, most: usize) -> Vec<crate::code::Range> {
        let Ok(found) = self.context.find_location_range(start, end) else { return Vec::new() };
        let range = |(begin, length, location): (u64, u64, addr2line::Location<'_>)| {
            (begin, length, location.file.map(str::to_string), location.line.filter(|&line| line > 0))
        };
        let mut ranges: Vec<_> = found.take(most).map(range).collect();
        // Several units may have lines of one place.
        ranges.sort_by_key(|range| range.0);
        ranges
    }

    /// Gives the unit that a program has in a .dwo or .dwp file: only the unit with the id that the program states.
    fn split_unit(&self, load: &addr2line::SplitDwarfLoad<Guarded<'s>>) -> Option<Arc<gimli::Dwarf<Guarded<'s>>>> {
        if let Some(package) = &self.package
            && let Ok(Some(unit)) = package.find_cu(load.dwo_id, &load.parent)
        {
            return Some(Arc::new(unit));
        }
        let sections = self.source.split.get(&load.dwo_id.0)?;
        let mut unit = sections.borrow(|bytes| self.source.guarded(bytes));
        unit.make_dwo(&load.parent);
        Some(Arc::new(unit))
    }
}
