//! The call frame information of one ELF file.

use std::ops::Range;

use gimli::{
    BaseAddresses, DebugFrame, EhFrame, EhFrameHdr, EndianSlice, FrameDescriptionEntry, LittleEndian, UnwindContext,
    UnwindSection, UnwindTableRow, Vendor,
};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Object, ObjectSection};
use perfcase_archive::Content;

use super::machine::Machine;

pub(crate) type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// A compressed .debug_frame with more decompressed bytes is not used.
const MAX_DECOMPRESSED_BYTES: u64 = 256 << 20;
/// More bytes of instructions for one function are damage: real functions need some kilobytes at most.
const MAX_ENTRY_BYTES: usize = 64 << 10;

/// The form of call frame information.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Form {
    Eh,
    Debug,
}

struct Section {
    bytes: Content,
    address: u64,
    /// The start addresses and offsets of entries, sorted; `None` where the file has its own table of them.
    index: Option<Box<[(u64, u32)]>>,
}

struct Segment {
    offset: u64,
    size: u64,
    address: u64,
    is_code: bool,
}

/// The unwind tables of one object.
pub struct Tables {
    file: Content,
    machine: Machine,
    segments: Vec<Segment>,
    eh: Option<Section>,
    /// .eh_frame_hdr and its address, if its table can be used.
    hdr: Option<(Content, u64)>,
    debug: Option<Section>,
    text: u64,
    got: u64,
}

impl Tables {
    /// Reads the headers of a 64-bit little-endian ELF file; `None` for all other files. `debug` is a file of the same
    /// build with the parts that were stripped from it.
    pub fn parse(file: &Content, debug: Option<&Content>) -> Option<Tables> {
        let elf: Elf<'_> = ElfFile64::parse(&file[..]).ok()?;
        let machine = Machine::of_elf(elf.elf_header().e_machine(elf.endian()).0)?;
        let segments =
            elf.elf_program_headers().iter().filter(|header| header.p_type(elf.endian()) == object::elf::PT_LOAD);
        let segments = segments.map(|header| Segment {
            offset: header.p_offset(elf.endian()),
            size: header.p_filesz(elf.endian()),
            address: header.p_vaddr(elf.endian()),
            is_code: header.p_flags(elf.endian()).0 & object::elf::PF_X.0 != 0,
        });
        let segments = segments.collect();
        let address = |name| elf.section_by_name(name).map_or(0, |section| section.address());
        let (text, got) = (address(".text"), address(".got"));
        let eh = plain(file, &elf, ".eh_frame").map(|(bytes, address)| Section { bytes, address, index: None });
        let hdr = plain(file, &elf, ".eh_frame_hdr");
        let debug = debug_frame(file, &elf).or_else(|| {
            let debug = debug?;
            debug_frame(debug, &ElfFile64::parse(&debug[..]).ok()?)
        });
        let debug = debug.map(|bytes| Section { bytes, address: 0, index: None });
        let mut tables = Tables { file: file.clone(), machine, segments, eh, hdr, debug, text, got };
        if tables.hdr_table_is_usable() {
            // The file's own table is used.
        } else if let Some(index) = tables.eh_section().map(|section| index(&section, &tables.bases())) {
            tables.hdr = None;
            tables.eh.as_mut()?.index = Some(index);
        }
        if let Some(index) = tables.debug_section().map(|section| index(&section, &tables.bases())) {
            tables.debug.as_mut()?.index = Some(index);
        }
        Some(tables)
    }

    /// Gives the architecture of the code.
    pub(crate) fn machine(&self) -> Machine {
        self.machine
    }

    /// Gives the address that the ELF file has for the code at a file offset. Code comes first, because the page in
    /// which one segment ends and the next begins is mapped for both.
    pub(crate) fn address_of(&self, offset: u64) -> Option<u64> {
        let within = |segment: &&Segment| offset.checked_sub(segment.offset).is_some_and(|at| at < segment.size);
        let code = self.segments.iter().filter(|segment| segment.is_code).find(within);
        let segment = code.or_else(|| self.segments.iter().find(within))?;
        Some((offset - segment.offset).wrapping_add(segment.address))
    }

    /// Tells whether the file has these bytes at an offset.
    pub(crate) fn has_code(&self, offset: u64, code: &[u8]) -> bool {
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        self.file.get(at..).is_some_and(|rest| rest.starts_with(code))
    }

    fn bytes(&self, form: Form) -> Option<&[u8]> {
        let section = match form {
            Form::Eh => self.eh.as_ref()?,
            Form::Debug => self.debug.as_ref()?,
        };
        Some(&section.bytes)
    }

    /// Gives the bytes of a DWARF expression in a section.
    pub(crate) fn expression(&self, form: Form, range: Range<usize>) -> Option<Bytes<'_>> {
        self.bytes(form)?.get(range).map(|bytes| EndianSlice::new(bytes, LittleEndian))
    }

    fn bases(&self) -> BaseAddresses {
        BaseAddresses::default()
            .set_eh_frame(self.eh.as_ref().map_or(0, |section| section.address))
            .set_eh_frame_hdr(self.hdr.as_ref().map_or(0, |(_, address)| *address))
            .set_text(self.text)
            .set_got(self.got)
    }

    fn vendor(&self) -> Vendor {
        if self.machine == Machine::Aarch64 { Vendor::AArch64 } else { Vendor::Default }
    }

    fn eh_section(&self) -> Option<EhFrame<Bytes<'_>>> {
        let mut section = EhFrame::new(self.bytes(Form::Eh)?, LittleEndian);
        section.set_address_size(8);
        section.set_vendor(self.vendor());
        Some(section)
    }

    fn debug_section(&self) -> Option<DebugFrame<Bytes<'_>>> {
        let mut section = DebugFrame::new(self.bytes(Form::Debug)?, LittleEndian);
        section.set_address_size(8);
        section.set_vendor(self.vendor());
        Some(section)
    }

    fn hdr_table_is_usable(&self) -> bool {
        let entry = self.segments.first().map_or(0, |segment| segment.address);
        self.eh.is_some() && self.offset_by_hdr(entry).is_some()
    }

    /// Gives the offset at which .eh_frame_hdr says that the entry of an address is.
    fn offset_by_hdr(&self, address: u64) -> Option<usize> {
        let (bytes, _) = self.hdr.as_ref()?;
        let bases = self.bases();
        let header = EhFrameHdr::new(bytes, LittleEndian).parse(&bases, 8).ok()?;
        let table = header.table()?;
        let pointer = table.lookup(address, &bases).ok()?;
        table.pointer_to_offset(pointer).ok().map(|offset| offset.0)
    }

    /// Calls `take` with the row of the table for an address, its entry, and the section that it is in.
    ///
    /// Gives `None` where no entry covers the address, and an error for a damaged entry.
    pub(crate) fn row<T>(
        &self,
        context: &mut UnwindContext<usize>,
        address: u64,
        take: impl Fn(Form, &FrameDescriptionEntry<Bytes<'_>>, &UnwindTableRow<usize>) -> Option<T>,
    ) -> Option<Result<T, gimli::Error>> {
        let by_index = |section: &Option<Section>| {
            let index = section.as_ref()?.index.as_ref()?;
            let at = index.partition_point(|(start, _)| *start <= address).checked_sub(1)?;
            Some(index[at].1 as usize)
        };
        let bases = self.bases();
        if let Some(section) = self.eh_section() {
            let offset = if self.hdr.is_some() { self.offset_by_hdr(address) } else { by_index(&self.eh) };
            let found = offset.and_then(|offset| {
                entry_row(&section, offset, &bases, context, address, |fde, row| take(Form::Eh, fde, row))
            });
            if found.is_some() {
                return found;
            }
        }
        let section = self.debug_section()?;
        let offset = by_index(&self.debug)?;
        entry_row(&section, offset, &bases, context, address, |fde, row| take(Form::Debug, fde, row))
    }
}

type Elf<'a> = ElfFile64<'a, object::LittleEndian>;

/// Gives a section as it is in the file; `None` for a section that the file only names.
fn plain(file: &Content, elf: &Elf<'_>, name: &str) -> Option<(Content, u64)> {
    let section = elf.section_by_name(name)?;
    let (start, size) = section.file_range()?;
    let range = usize::try_from(start).ok()?..usize::try_from(start.checked_add(size)?).ok()?;
    (size > 0 && range.end <= file.len()).then(|| (file.slice(range), section.address()))
}

fn debug_frame(file: &Content, elf: &Elf<'_>) -> Option<Content> {
    let data = elf.section_by_name(".debug_frame")?.compressed_data().ok()?;
    if data.format == object::CompressionFormat::None {
        return plain(file, elf, ".debug_frame").map(|(bytes, _)| bytes);
    }
    if data.uncompressed_size > MAX_DECOMPRESSED_BYTES {
        return None;
    }
    Some(Content::from_bytes(data.decompress().ok()?.into_owned()))
}

fn entry_row<'a, S: UnwindSection<Bytes<'a>>, T>(
    section: &S,
    offset: usize,
    bases: &BaseAddresses,
    context: &mut UnwindContext<usize>,
    address: u64,
    take: impl Fn(&FrameDescriptionEntry<Bytes<'a>>, &UnwindTableRow<usize>) -> Option<T>,
) -> Option<Result<T, gimli::Error>> {
    let fde = match section.fde_from_offset(bases, S::Offset::from(offset), S::cie_from_offset) {
        Ok(fde) if !fde.contains(address) => return None,
        Ok(fde) => fde,
        Err(error) => return Some(Err(error)),
    };
    if fde.entry_len() > MAX_ENTRY_BYTES || fde.cie().entry_len() > MAX_ENTRY_BYTES {
        return Some(Err(gimli::Error::TooManyRegisterRules));
    }
    match fde.unwind_info_for_address(section, bases, context, address) {
        Ok(row) => Some(take(&fde, row).ok_or(gimli::Error::UnsupportedEvaluation)),
        Err(error) => Some(Err(error)),
    }
}

/// Gives the entries of a section by their first addresses. Entries behind damage are not found.
fn index<'a, S: UnwindSection<Bytes<'a>>>(section: &S, bases: &BaseAddresses) -> Box<[(u64, u32)]> {
    let mut found = Vec::new();
    let mut entries = section.entries(bases);
    let mut last_cie = None;
    while let Ok(Some(entry)) = entries.next() {
        let gimli::CieOrFde::Fde(partial) = entry else { continue };
        // Most entries follow their CIE, so it is parsed once for all of them.
        let at = partial.cie_offset();
        let fde = partial.parse(|section, bases, offset| match &last_cie {
            Some((known, cie)) if *known == offset => Ok(gimli::CommonInformationEntry::clone(cie)),
            _ => section.cie_from_offset(bases, offset),
        });
        if let Ok(fde) = fde
            && let Ok(offset) = u32::try_from(fde.offset())
        {
            found.push((fde.initial_address(), offset));
            last_cie = Some((at, fde.cie().clone()));
        }
    }
    found.sort_unstable();
    found.into()
}
