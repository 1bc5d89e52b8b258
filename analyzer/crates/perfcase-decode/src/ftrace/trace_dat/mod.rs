//! trace.dat, versions 6 and 7, as trace-cmd writes them.
//!
//! Sources: the man pages trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5). Comments in this module say where a file differs
//! from them.

#[cfg(test)]
mod built_tests;
mod options;
pub mod plain;
mod recovery;
mod sections;
#[cfg(test)]
mod tests;
mod v6;
mod v7;

use perfcase_archive::Issue;

use super::capture::Capture;
use super::compression::Compression;
use super::cursor::Cursor;
use super::layout::PageLayout;

/// The first bytes of every trace.dat.
pub const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// Reads everything except the pages. An error means that nothing can be read; damage after the header is in
/// [`Capture::damages`].
pub fn parse(data: &[u8]) -> Result<Capture, Issue> {
    let (mut cursor, mut capture, page_size) = begin(data)?;
    let outcome = match capture.version {
        6 => v6::read(&mut cursor, page_size, &mut capture),
        _ => v7::read(&mut cursor, page_size, &mut capture),
    };
    capture.damages.extend(outcome.err());
    capture.buffers.sort_by_key(|buffer| !buffer.name.is_empty());
    Ok(capture)
}

/// Reads what both versions begin with. Gives what follows, a capture that knows no more, and the page size.
fn begin(data: &[u8]) -> Result<(Cursor<'_>, Capture, u32), Issue> {
    let mut cursor = Cursor::new(data, 0, false);
    cursor.expect(MAGIC, "the magic of a trace.dat")?;
    let version_at = cursor.offset();
    let version = cursor.string(16, "the version")?;
    let version = match version.as_str() {
        "6" => 6,
        "7" => 7,
        other => {
            let message = format!("trace.dat version {other:?} is not known; versions 6 and 7 are");
            return Err(Issue::error("unknown_version", message).at(version_at));
        }
    };
    let big_endian = cursor.u8("the byte order")? != 0;
    cursor.big_endian = big_endian;
    let long_size = cursor.u8("the size of a long")?;
    let page_size = cursor.u32("the page size")?;
    Ok((cursor, Capture::empty(version, big_endian, long_size, data.len()), page_size))
}

/// Gives the layout by the file's `header_page`; the usual layout where the text is missing or damaged.
fn page_layout(capture: &mut Capture, page_size: u32, at: u64) -> PageLayout {
    let page_size = page_size as usize;
    let parsed = PageLayout::parse(&capture.header_page, capture.big_endian);
    if parsed.is_none() {
        let message = "header_page is missing or damaged; the usual layout of a page is assumed";
        capture.damages.push(Issue::error("corrupt", message).at(at));
    }
    let layout =
        parsed.unwrap_or_else(|| PageLayout::standard(4096, usize::from(capture.long_size), capture.big_endian));
    layout.with_page_size(page_size).unwrap_or(layout)
}

/// The selected clock of a `trace_clock` file: the word in brackets.
fn selected_clock(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(clock, _)| clock)
}

fn compression_by_name(name: &str, at: u64, capture: &mut Capture) -> Compression {
    Compression::from_name(name).unwrap_or_else(|| {
        let message = format!("compression {name:?} is not known: compressed sections cannot be read");
        capture.damages.push(Issue::error("unknown_compression", message).at(at));
        Compression::None
    })
}
