//! Version 7: sections anywhere in the file. A chain of option sections has their places.

use std::borrow::Cow;

use perfcase_archive::Issue;

use super::options::{self, Collected, id};
use super::v6::{MAX_CPUS, clamp};
use super::{compression_by_name, page_layout, recovery, sections};

use crate::ftrace::capture::{Buffer, Capture, CpuData};
use crate::ftrace::compression::Room;
use crate::ftrace::cursor::Cursor;
use crate::ftrace::layout::PageLayout;
use crate::ftrace::stream::Segment;

/// Bit of a section's flags: its body (or, for pages, each chunk) is compressed.
pub(super) const FLAG_COMPRESSED: u16 = 1;
/// Section number of pages; other sections have the number of the option that points to them.
pub(super) const SECTION_FLYRECORD: u16 = 3;
/// The longest chain of option sections that is followed.
pub(super) const MAX_OPTION_SECTIONS: usize = 4096;
/// The most chunks of one CPU that are read.
const MAX_CHUNKS: u32 = 1 << 22;

/// The header of a section.
pub(super) struct SectionHeader {
    pub(super) id: u16,
    pub(super) flags: u16,
    pub(super) size: u64,
}

/// A buffer as its option describes it. The page layout needs `header_page`, which may come later.
pub(super) struct BufferOption {
    pub(super) offset: u64,
    at: u64,
    pub(super) name: String,
    pub(super) clock: String,
    pub(super) page_size: u32,
    pub(super) cpus: Vec<(u32, u64, u64)>,
}

pub(super) fn read(cursor: &mut Cursor, page_size: u32, capture: &mut Capture) -> Result<(), Issue> {
    let at = cursor.offset();
    let name = cursor.string(64, "the compression's name")?;
    cursor.string(64, "the compression's version")?;
    capture.compression = compression_by_name(&name, at, capture);
    let first = cursor.u64("where the options are")?;
    let body_start = cursor.position();
    let mut collected = Collected::default();
    let mut buffers = Vec::new();
    let chain = read_option_chain(cursor, first, capture, &mut collected, &mut buffers);
    let chain = chain.and_then(|last| trailing_strings(cursor, last));
    if let Err(damage) = chain {
        capture.damages.push(damage);
        // The options are at the end of the file: a cut file has everything except these.
        if buffers.is_empty() {
            cursor.seek(body_start as u64)?;
            return recovery::scan(cursor, page_size, capture);
        }
    }
    let layout = page_layout(capture, page_size, at);
    for buffer in buffers {
        let layout = layout.with_page_size(buffer.page_size as usize).unwrap_or(layout);
        let outcome = open_buffer(cursor, buffer, layout, capture);
        capture.damages.extend(outcome.err());
    }
    Ok(())
}

/// Only the names of the sections follow the last section of options, which is at `last`. Nothing here needs them, but
/// a file that ends within them was cut, and an issue says so.
fn trailing_strings(file: &Cursor, last: u64) -> Result<(), Issue> {
    let (options, body) = section_header(file, last)?;
    let Some(end) = body.offset().checked_add(options.size) else { return Ok(()) };
    let mut at = file.clone();
    at.seek(end)?;
    if at.remaining() == 0 {
        return Ok(());
    }
    let (header, mut body) = section_header(file, end)?;
    if header.id == id::STRINGS {
        body.bytes(header.size, "the names of the sections")?;
    }
    Ok(())
}

/// Gives the place of the last option section.
fn read_option_chain(
    cursor: &mut Cursor,
    first: u64,
    capture: &mut Capture,
    collected: &mut Collected,
    buffers: &mut Vec<BufferOption>,
) -> Result<u64, Issue> {
    let mut next = first;
    for _ in 0..MAX_OPTION_SECTIONS {
        let (body, base) = section(cursor, next, id::DONE, capture)?;
        let mut body = Cursor::new(&body, base, cursor.big_endian);
        let done = loop {
            let id = body.u16("an option's number")?;
            let size = body.u32("an option's size")?;
            let at = body.offset();
            let mut option = Cursor::new(body.bytes(u64::from(size), "an option")?, at, cursor.big_endian);
            if id == id::DONE {
                break option.u64("where the next options are")?;
            }
            let outcome = read_option(id, &mut option, cursor, capture, collected, buffers);
            capture.damages.extend(outcome.err());
        };
        if done == 0 {
            return Ok(next);
        }
        next = done;
    }
    Err(Issue::error("corrupt", "the sections of options do not end").at(next))
}

fn read_option(
    id: u16,
    option: &mut Cursor,
    file: &mut Cursor,
    capture: &mut Capture,
    collected: &mut Collected,
    buffers: &mut Vec<BufferOption>,
) -> Result<(), Issue> {
    match id {
        id::BUFFER => buffers.push(read_buffer_option(option)?),
        id::BUFFER_TEXT => {
            let offset = option.u64("where a latency trace is")?;
            capture.latency_text = Some(latency_text(file, offset, capture)?);
        }
        id::HEADER_INFO..=id::CMDLINES => {
            let offset = option.u64("where a section is")?;
            let (body, base) = section(file, offset, id, capture)?;
            read_section(id, &mut Cursor::new(&body, base, file.big_endian), capture)?;
        }
        _ => options::take(id, option, capture, collected)?,
    }
    Ok(())
}

/// Reads the text of a latency trace, which may be in chunks, as pages may.
fn latency_text(file: &Cursor, offset: u64, capture: &mut Capture) -> Result<Vec<u8>, Issue> {
    let (header, mut body) = section_header(file, offset)?;
    if header.flags & FLAG_COMPRESSED == 0 {
        let rest = body.remaining() as u64;
        return Ok(body.bytes(rest, "a latency trace")?.to_vec());
    }
    let at = body.offset();
    let mut whole = body.clone();
    let (segments, damage) = chunks(&mut body, &capture.room);
    capture.damages.extend(damage);
    let bytes = whole.bytes(whole.remaining() as u64, "a latency trace")?;
    let mut text = Vec::new();
    for segment in segments {
        let Segment::Chunk { stored, unpacked } = segment else { continue };
        let (part, error) = capture.compression.unpack(bytes.get(stored).unwrap_or_default(), unpacked, &capture.room);
        text.extend(part);
        capture.damages.extend(error.map(|error| error.issue("").at(at)));
    }
    Ok(text)
}

/// Reads the body of one of the sections 16 to 21.
pub(super) fn read_section(id: u16, body: &mut Cursor, capture: &mut Capture) -> Result<(), Issue> {
    match id {
        id::HEADER_INFO => sections::header_info(body, capture),
        id::FTRACE_EVENTS => sections::ftrace_formats(body, capture),
        id::EVENT_FORMATS => sections::event_formats(body, capture),
        id::KALLSYMS => sections::kallsyms(body, capture),
        id::PRINTK => sections::printk(body, capture),
        _ => sections::cmdlines(body, capture),
    }
}

pub(super) fn read_buffer_option(option: &mut Cursor) -> Result<BufferOption, Issue> {
    let at = option.offset();
    let offset = option.u64("where a buffer is")?;
    let name = option.string(255, "a buffer's name")?;
    let clock = option.string(255, "a buffer's clock")?;
    let page_size = option.u32("a buffer's page size")?;
    let count = option.u32("a buffer's number of CPUs")?;
    if count > MAX_CPUS {
        return Err(Issue::error("corrupt", format!("{count} CPUs are over the limit of {MAX_CPUS}")).at(at));
    }
    let mut cpus = Vec::new();
    for _ in 0..count {
        let cpu = option.u32("a CPU's number")?;
        let start = option.u64("where a CPU's pages are")?;
        cpus.push((cpu, start, option.u64("the size of a CPU's pages")?));
    }
    Ok(BufferOption { offset, at, name, clock, page_size, cpus })
}

fn open_buffer(
    file: &mut Cursor,
    buffer: BufferOption,
    layout: PageLayout,
    capture: &mut Capture,
) -> Result<(), Issue> {
    let (header, _) = section_header(file, buffer.offset)?;
    let is_compressed = header.flags & FLAG_COMPRESSED != 0;
    let mut cpus = Vec::new();
    for (cpu, start, size) in buffer.cpus {
        let end = file.position() + file.remaining();
        let (range, damage) = clamp(cpu, start, size, end, buffer.at);
        capture.damages.extend(damage);
        let segments = if is_compressed {
            let mut at = file.clone();
            at.seek(range.start as u64)?;
            let (segments, damage) = chunks(&mut at, &capture.room);
            capture.damages.extend(damage);
            segments
        } else {
            vec![Segment::Plain(range)]
        };
        cpus.push(CpuData { cpu, segments });
    }
    capture.buffers.push(Buffer { name: buffer.name, clock: buffer.clock, layout, cpus });
    Ok(())
}

/// Reads a count, then each chunk after its stored and its unpacked size. Chunks before a damage are kept.
pub(super) fn chunks(cursor: &mut Cursor, room: &Room) -> (Vec<Segment>, Option<Issue>) {
    let mut segments = Vec::new();
    let mut read = || -> Result<(), Issue> {
        let at = cursor.offset();
        let count = cursor.u32("a number of chunks")?;
        if count > MAX_CHUNKS {
            return Err(Issue::error("corrupt", format!("{count} chunks are over the limit of {MAX_CHUNKS}")).at(at));
        }
        for _ in 0..count {
            let stored = cursor.u32("a chunk's size")?;
            let unpacked = cursor.u32("a chunk's unpacked size")? as usize;
            let start = cursor.position();
            // Any number of CPUs may point to the same chunks.
            if !room.take(size_of::<Segment>()) {
                return Err(Issue::error("corrupt", "the lists of chunks are together over the limit of memory").at(at));
            }
            let available = (stored as usize).min(cursor.remaining());
            segments.push(Segment::Chunk { stored: start..start + available, unpacked });
            cursor.bytes(u64::from(stored), "a chunk")?;
        }
        Ok(())
    };
    let damage = read().err();
    (segments, damage)
}

/// Gives the header of the section at `offset`, and a cursor over the part of its body that is in the file.
pub(super) fn section_header<'a>(file: &Cursor<'a>, offset: u64) -> Result<(SectionHeader, Cursor<'a>), Issue> {
    let mut at = file.clone();
    at.seek(offset)?;
    let id = at.u16("a section's number")?;
    let flags = at.u16("a section's flags")?;
    at.u32("a section's description")?;
    let size = at.u64("a section's size")?;
    let base = at.offset();
    let body = at.bytes(size.min(at.remaining() as u64), "a section")?;
    Ok((SectionHeader { id, flags, size }, Cursor::new(body, base, file.big_endian)))
}

/// Gives the unpacked body of the section at `offset` and its place in the file. A cut body is an error, because its
/// parts depend on each other.
pub(super) fn section<'a>(
    file: &Cursor<'a>,
    offset: u64,
    id: u16,
    capture: &Capture,
) -> Result<(Cow<'a, [u8]>, u64), Issue> {
    let (header, mut body) = section_header(file, offset)?;
    if header.id != id {
        let message = format!("section {id} is expected here, section {} was found", header.id);
        return Err(Issue::error("corrupt", message).at(offset));
    }
    let base = body.offset();
    if header.flags & FLAG_COMPRESSED == 0 {
        let bytes = body.bytes(header.size, "a section")?;
        // Many options may point to the same section, and its content is kept each time.
        if !capture.room.take(bytes.len()) {
            return Err(Issue::error("corrupt", "the sections are together over the limit of memory").at(base));
        }
        return Ok((Cow::Borrowed(bytes), base));
    }
    let stored = body.u32("a section's stored size")?;
    let unpacked = body.u32("a section's unpacked size")? as usize;
    let packed = body.bytes(u64::from(stored), "a section")?;
    let (bytes, error) = capture.compression.unpack(packed, unpacked, &capture.room);
    match error {
        Some(error) => Err(error.issue(&format!("section {id}: ")).at(base)),
        None => Ok((Cow::Owned(bytes), base)),
    }
}
