//! The parts that versions 6 and 7 share: headers, formats, kallsyms, printk formats, saved command lines.

use perfcase_archive::Issue;

use crate::format::MAX_TEXT_BYTES;
use crate::ftrace::capture::{Capture, FormatText};
use crate::ftrace::cursor::Cursor;
use crate::ftrace::layout::event_header_is_known;

/// The most event formats that are read. A 6.18 kernel has 2,323.
const MAX_FORMATS: usize = 1 << 16;

/// Reads `header_page` and `header_event`, each after its name and a 64-bit size.
pub(super) fn header_info(cursor: &mut Cursor, capture: &mut Capture) -> Result<(), Issue> {
    cursor.expect(b"header_page\0", "header_page")?;
    capture.header_page = text64(cursor, "header_page")?;
    cursor.expect(b"header_event\0", "header_event")?;
    let at = cursor.offset();
    let header_event = text64(cursor, "header_event")?;
    if !event_header_is_known(&header_event) {
        let message = "header_event describes an event header that is not known; records may be misread";
        capture.damages.push(Issue::error("unknown_layout", message).at(at));
    }
    Ok(())
}

/// Reads the formats of the `ftrace` system: a count, then each after a 64-bit size.
pub(super) fn ftrace_formats(cursor: &mut Cursor, capture: &mut Capture) -> Result<(), Issue> {
    let count = cursor.u32("the number of ftrace formats")?;
    formats_of(cursor, "ftrace", count, capture)
}

/// Reads the formats of all other systems.
pub(super) fn event_formats(cursor: &mut Cursor, capture: &mut Capture) -> Result<(), Issue> {
    for _ in 0..cursor.u32("the number of event systems")? {
        let system = cursor.string(255, "a system's name")?;
        let count = cursor.u32("the number of formats")?;
        formats_of(cursor, &system, count, capture)?;
    }
    Ok(())
}

fn formats_of(cursor: &mut Cursor, system: &str, count: u32, capture: &mut Capture) -> Result<(), Issue> {
    for _ in 0..count {
        let at = cursor.offset();
        let text = text64(cursor, "an event format")?;
        if text.len() > MAX_TEXT_BYTES || capture.formats.len() >= MAX_FORMATS {
            return Err(Issue::error("corrupt", "event formats exceed the limits of size or number").at(at));
        }
        capture.formats.push(FormatText { system: system.to_owned(), text });
    }
    Ok(())
}

/// Reads /proc/kallsyms after a 32-bit size.
pub(super) fn kallsyms(cursor: &mut Cursor, capture: &mut Capture) -> Result<(), Issue> {
    capture.kallsyms = bytes32(cursor, "kallsyms")?;
    Ok(())
}

/// Reads `printk_formats` after a 32-bit size.
pub(super) fn printk(cursor: &mut Cursor, capture: &mut Capture) -> Result<(), Issue> {
    capture.printk_formats = bytes32(cursor, "printk_formats")?;
    Ok(())
}

/// Reads `saved_cmdlines` after a 64-bit size.
pub(super) fn cmdlines(cursor: &mut Cursor, capture: &mut Capture) -> Result<(), Issue> {
    let size = cursor.u64("the size of saved_cmdlines")?;
    capture.saved_cmdlines = cursor.bytes(size, "saved_cmdlines")?.to_vec();
    Ok(())
}

fn bytes32(cursor: &mut Cursor, what: &str) -> Result<Vec<u8>, Issue> {
    let size = cursor.u32(what)?;
    Ok(cursor.bytes(u64::from(size), what)?.to_vec())
}

fn text64(cursor: &mut Cursor, what: &str) -> Result<String, Issue> {
    let size = cursor.u64(what)?;
    Ok(String::from_utf8_lossy(cursor.bytes(size, what)?).into_owned())
}
