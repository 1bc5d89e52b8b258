//! A version 7 file without its options: they stand at the end and are lost when the file is cut. The sections follow
//! each other after the header, so the rest is found section by section.

use perfcase_archive::Issue;

use super::options::id;
use super::page_layout;
use super::v7::{FLAG_COMPRESSED, SECTION_FLYRECORD, chunks, read_section, section_header};

use crate::ftrace::capture::{Buffer, Capture, CpuData};
use crate::ftrace::compression::Room;
use crate::ftrace::cursor::Cursor;
use crate::ftrace::stream::Segment;

/// Reads the sections from the cursor's position. The numbers and clocks of the CPUs are in the lost options: CPUs get
/// numbers in the order of their pages, and an issue says so.
pub(super) fn scan(file: &mut Cursor, page_size: u32, capture: &mut Capture) -> Result<(), Issue> {
    let mut offset = file.position() as u64;
    let mut pages = Vec::new();
    while let Ok((header, mut body)) = section_header(file, offset) {
        let body_at = body.offset();
        match header.id {
            SECTION_FLYRECORD => pages.push((body, header.flags)),
            id::HEADER_INFO..=id::CMDLINES => {
                let outcome = scan_section(header.id, header.flags, &mut body, capture);
                capture.damages.extend(outcome.err());
            }
            _ => {}
        }
        let Some(next) = body_at.checked_add(header.size) else {
            break;
        };
        if header.id > id::LAST || next <= offset {
            break;
        }
        offset = next;
    }
    let layout = page_layout(capture, page_size, offset);
    for (body, flags) in pages {
        let at = body.offset();
        let cpus = match flags & FLAG_COMPRESSED {
            0 => plain_cpus(body, page_size),
            _ => compressed_cpus(body, page_size, &capture.room),
        };
        let message = format!(
            "the table of CPUs is lost: pages of {} CPUs were found; their numbers are guessed, the clock is unknown",
            cpus.len()
        );
        capture.damages.push(Issue::error("truncated", message).at(at));
        capture.buffers.push(Buffer { name: String::new(), clock: String::new(), layout, cpus });
    }
    Ok(())
}

fn scan_section(id: u16, flags: u16, body: &mut Cursor, capture: &mut Capture) -> Result<(), Issue> {
    if flags & FLAG_COMPRESSED == 0 {
        return read_section(id, body, capture);
    }
    let at = body.offset();
    let stored = body.u32("a section's stored size")?;
    let unpacked = body.u32("a section's unpacked size")? as usize;
    let packed = body.bytes(u64::from(stored), "a section")?;
    let (bytes, error) = capture.compression.unpack(packed, unpacked, &capture.room);
    if let Some(error) = error {
        return Err(error.issue(&format!("section {id}: ")).at(at));
    }
    read_section(id, &mut Cursor::new(&bytes, at, body.big_endian), capture)
}

/// Splits chunks by CPU: the chunks of each CPU begin at a page boundary of the file.
fn compressed_cpus(mut body: Cursor, page_size: u32, room: &Room) -> Vec<CpuData> {
    let mut cpus = Vec::new();
    let end = body.offset() + body.remaining() as u64;
    let base = body.offset();
    while let Some(start) = body.offset().checked_next_multiple_of(u64::from(page_size.max(1))) {
        if start >= end || body.seek(start - base).is_err() {
            break;
        }
        let (segments, damage) = chunks(&mut body, room);
        let in_file = segments.into_iter().map(|segment| shift(segment, base as usize)).collect::<Vec<_>>();
        if in_file.is_empty() {
            break;
        }
        cpus.push(CpuData { cpu: cpus.len() as u32, segments: in_file });
        if damage.is_some() {
            break;
        }
    }
    cpus
}

/// Splits pages by CPU. Without compression nothing marks the end of a CPU's pages. They are in order of time, so a
/// page that is older than the page before it is the first of another CPU.
fn plain_cpus(mut body: Cursor, page_size: u32) -> Vec<CpuData> {
    let mut cpus: Vec<CpuData> = Vec::new();
    let (base, mut last_ts) = (body.offset(), u64::MAX);
    let end = base as usize + body.remaining();
    let step = u64::from(page_size.max(512));
    let mut start = base.checked_next_multiple_of(step);
    while let Some(page) = start.filter(|page| (*page as usize) < end) {
        let Ok(ts) = body.seek(page - base).and_then(|()| body.u64("a page's time")) else { break };
        let stop = end.min((page + step) as usize);
        match cpus.last_mut().map(|cpu| &mut cpu.segments[0]) {
            Some(Segment::Plain(range)) if ts >= last_ts => range.end = stop,
            _ => {
                let segments = vec![Segment::Plain(page as usize..stop)];
                cpus.push(CpuData { cpu: cpus.len() as u32, segments });
            }
        }
        last_ts = ts;
        start = page.checked_add(step);
    }
    cpus
}

fn shift(segment: Segment, by: usize) -> Segment {
    match segment {
        Segment::Plain(range) => Segment::Plain(range.start + by..range.end + by),
        Segment::Chunk { stored, unpacked } => Segment::Chunk { stored: stored.start + by..stored.end + by, unpacked },
    }
}
