//! A version 7 file whose sections and pages are compressed, written as `trace-cmd record --compression none` writes it.

use std::io::{self, Seek, SeekFrom, Write};

use perfcase_archive::{Issue, Severity};

use super::options::id;
use super::v7::{
    BufferOption, FLAG_COMPRESSED, MAX_OPTION_SECTIONS, SECTION_FLYRECORD, chunks, read_buffer_option, section,
    section_header,
};
use super::{begin, parse};

use crate::ftrace::capture::Capture;
use crate::ftrace::compression::Compression;
use crate::ftrace::cursor::Cursor;
use crate::ftrace::stream::Segment;
use crate::plain::{self, Failure};

/// Tells whether a file has compressed parts.
pub fn is_compressed(data: &[u8]) -> bool {
    parse(data).is_ok_and(|capture| capture.compression != Compression::None)
}

/// Writes a file that is compressed and not damaged to `out`, without compression.
pub fn write(data: &[u8], out: &mut (impl Write + Seek)) -> Result<(), Failure> {
    let known = parse(data)?;
    if let Some(damage) = known.damages.iter().find(|each| each.severity == Severity::Error) {
        return Err(damage.clone().into());
    }
    if known.latency_text.is_some() {
        return Err(Issue::error("unknown_section", "it is a latency trace, of text").into());
    }
    let (mut file, mut capture, page_size) = begin(data)?;
    capture.compression = known.compression;
    out.write_all(&data[..file.position()])?;
    file.string(64, "the compression's name")?;
    file.string(64, "the compression's version")?;
    out.write_all(b"none\0\0")?;
    let mut next = file.u64("where the options are")?;
    let first_at = out.stream_position()?;
    out.write_all(&[0; 8])?;
    let limit = plain::limit(data.len());
    let mut plain = Plain { file, capture, page_size: page_size.into(), limit, out };
    let mut options = Vec::new();
    for _ in 0..MAX_OPTION_SECTIONS {
        let last = next;
        next = plain.options(next, &mut options)?;
        if next == 0 {
            plain.put_option(&mut options, id::DONE, &[0; 8]);
            let options_at = plain.out.stream_position()?;
            plain.section(id::DONE, 0, &options)?;
            plain.names(last)?;
            plain.out.seek(SeekFrom::Start(first_at))?;
            let first = plain.number(options_at, 8);
            return Ok(plain.out.write_all(&first)?);
        }
    }
    Err(Issue::error("corrupt", "the sections of options do not end").into())
}

struct Plain<'a, W> {
    file: Cursor<'a>,
    capture: Capture,
    page_size: u64,
    /// How many bytes more may be unpacked.
    limit: u64,
    out: &'a mut W,
}

impl<W: Write + Seek> Plain<'_, W> {
    /// Writes what a section of options points to, and adds the options to `made`. Gives where the next section of them is; 0 after the last.
    fn options(&mut self, at: u64, made: &mut Vec<u8>) -> Result<u64, Failure> {
        let file = self.file.clone();
        let (body, base) = section(&file, at, id::DONE, &self.capture)?;
        let mut body = Cursor::new(&body, base, file.big_endian);
        loop {
            let id = body.u16("an option's number")?;
            let size = body.u32("an option's size")?;
            let at = body.offset();
            let bytes = body.bytes(u64::from(size), "an option")?;
            let mut option = Cursor::new(bytes, at, file.big_endian);
            let changed = match id {
                id::DONE => return Ok(option.u64("where the next options are")?),
                id::BUFFER => self.buffer(&read_buffer_option(&mut option)?)?,
                id::HEADER_INFO..=id::CMDLINES => {
                    let from = option.u64("where a section is")?;
                    let rest = option.bytes(option.remaining() as u64, "an option")?;
                    [&self.copied(from, id)?[..], rest].concat()
                }
                _ => bytes.to_vec(),
            };
            self.put_option(made, id, &changed);
        }
    }

    /// Writes a section. Gives its place, as an option has it.
    fn copied(&mut self, from: u64, id: u16) -> Result<Vec<u8>, Failure> {
        let file = self.file.clone();
        let (bytes, _) = section(&file, from, id, &self.capture)?;
        self.take(bytes.len())?;
        let at = self.out.stream_position()?;
        self.section(id, 0, &bytes)?;
        self.capture.room.give_back(bytes.len());
        Ok(self.number(at, 8))
    }

    /// Writes the pages of a buffer. Gives its option.
    fn buffer(&mut self, buffer: &BufferOption) -> Result<Vec<u8>, Failure> {
        let (header, _) = section_header(&self.file, buffer.offset)?;
        let at = self.out.stream_position()?;
        self.section(SECTION_FLYRECORD, 0, &[])?;
        let begin = self.out.stream_position()?;
        let mut option = self.number(at, 8);
        for text in [&buffer.name, &buffer.clock] {
            option.extend_from_slice(text.as_bytes());
            option.push(0);
        }
        option.extend(self.number(buffer.page_size.into(), 4));
        option.extend(self.number(buffer.cpus.len() as u64, 4));
        for &(cpu, from, size) in &buffer.cpus {
            let start = self.out.stream_position()?.next_multiple_of(self.page_size.max(1));
            if size > 0 {
                let gap = start - self.out.stream_position()?;
                io::copy(&mut io::Read::take(io::repeat(0), gap), self.out)?;
                self.pages(from, size, header.flags & FLAG_COMPRESSED != 0)?;
            }
            let end = self.out.stream_position()?.max(start);
            option.extend(self.number(cpu.into(), 4));
            option.extend(self.number(start, 8));
            option.extend(self.number(if size > 0 { end - start } else { 0 }, 8));
        }
        let end = self.out.stream_position()?;
        self.out.seek(SeekFrom::Start(begin - 8))?;
        let size = self.number(end - begin, 8);
        self.out.write_all(&size)?;
        self.out.seek(SeekFrom::Start(end))?;
        Ok(option)
    }

    fn pages(&mut self, from: u64, size: u64, is_compressed: bool) -> Result<(), Failure> {
        let mut at = self.file.clone();
        at.seek(from)?;
        if !is_compressed {
            return Ok(self.out.write_all(at.bytes(size, "a CPU's pages")?)?);
        }
        let mut whole = self.file.clone();
        whole.seek(0)?;
        let bytes = whole.bytes(whole.remaining() as u64, "the file")?;
        let (segments, damage) = chunks(&mut at, &self.capture.room);
        if let Some(damage) = damage {
            return Err(damage.into());
        }
        for segment in segments {
            let Segment::Chunk { stored, unpacked } = segment else { continue };
            let packed = bytes.get(stored).unwrap_or_default();
            let (pages, error) = self.capture.compression.unpack(packed, unpacked, &self.capture.room);
            if let Some(error) = error {
                return Err(error.issue("").at(from).into());
            }
            self.take(pages.len())?;
            self.out.write_all(&pages)?;
            self.capture.room.give_back(pages.len());
        }
        Ok(())
    }

    /// Writes the names of the sections, which follow the last section of options.
    fn names(&mut self, last: u64) -> Result<(), Failure> {
        let (options, body) = section_header(&self.file, last)?;
        let end = body.offset().saturating_add(options.size);
        if section_header(&self.file, end).is_ok_and(|(header, _)| header.id == id::STRINGS) {
            self.copied(end, id::STRINGS)?;
        }
        Ok(())
    }

    fn take(&mut self, bytes: usize) -> Result<(), Issue> {
        let left = self.limit.checked_sub(bytes as u64);
        self.limit =
            left.ok_or_else(|| Issue::error("compression_limit", "its pages grow beyond any recording's size"))?;
        Ok(())
    }

    fn section(&mut self, id: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        for (value, size) in [(id.into(), 2), (flags.into(), 2), (0, 4), (body.len() as u64, 8)] {
            let bytes = self.number(value, size);
            self.out.write_all(&bytes)?;
        }
        self.out.write_all(body)
    }

    fn put_option(&self, options: &mut Vec<u8>, id: u16, body: &[u8]) {
        options.extend(self.number(id.into(), 2));
        options.extend(self.number(body.len() as u64, 4));
        options.extend_from_slice(body);
    }

    fn number(&self, value: u64, size: usize) -> Vec<u8> {
        if self.file.big_endian {
            value.to_be_bytes()[8 - size..].to_vec()
        } else {
            value.to_le_bytes()[..size].to_vec()
        }
    }
}
