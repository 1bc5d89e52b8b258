//! Options of a trace.dat: each has a 16-bit id, a 32-bit size and data.

use perfcase_archive::Issue;

use super::selected_clock;

use crate::ftrace::capture::{Capture, CpuStats, TscToNs};
use crate::ftrace::cursor::Cursor;

/// Option numbers, from trace-cmd.dat.v7(5).
pub(super) mod id {
    pub(crate) const DONE: u16 = 0;
    pub(crate) const DATE: u16 = 1;
    pub(crate) const CPUSTAT: u16 = 2;
    pub(crate) const BUFFER: u16 = 3;
    pub(crate) const TRACECLOCK: u16 = 4;
    pub(crate) const UNAME: u16 = 5;
    pub(crate) const OFFSET: u16 = 7;
    pub(crate) const CPUCOUNT: u16 = 8;
    pub(crate) const VERSION: u16 = 9;
    pub(crate) const TSC2NSEC: u16 = 14;
    pub(crate) const STRINGS: u16 = 15;
    pub(crate) const HEADER_INFO: u16 = 16;
    pub(crate) const FTRACE_EVENTS: u16 = 17;
    pub(crate) const EVENT_FORMATS: u16 = 18;
    pub(crate) const KALLSYMS: u16 = 19;
    pub(crate) const PRINTK: u16 = 20;
    pub(crate) const CMDLINES: u16 = 21;
    pub(crate) const BUFFER_TEXT: u16 = 22;
    pub(crate) const LAST: u16 = BUFFER_TEXT;
}

/// Most options that are read.
pub(super) const MAX_OPTIONS: usize = 1 << 16;

/// What options said before the buffer that it is about.
#[derive(Debug, Default)]
pub(super) struct Collected {
    /// The clock of the file (version 6 names it once).
    pub(super) clock: String,
    /// The instance that the next counters belong to.
    stats_buffer: String,
}

/// Reads an option that versions 6 and 7 share. Options that events do not need (hooks, process maps, guests, trace
/// ids) are skipped.
pub(super) fn take(
    id: u16,
    cursor: &mut Cursor,
    capture: &mut Capture,
    collected: &mut Collected,
) -> Result<(), Issue> {
    match id {
        // trace-cmd reads both with strtoll, base 0; the date in us, the offset in ns.
        id::DATE => add_offset(capture, integer(&text(cursor)).map(|us| us.wrapping_mul(1000))),
        id::OFFSET => add_offset(capture, integer(&text(cursor))),
        id::CPUSTAT => take_stats(&text(cursor), capture, collected),
        id::TRACECLOCK => collected.clock = selected_clock(&text(cursor)).unwrap_or_default().to_owned(),
        id::UNAME => capture.uname = Some(text(cursor)),
        id::VERSION => capture.tool_version = Some(text(cursor)),
        id::CPUCOUNT => capture.cpu_count = Some(cursor.u32("the number of CPUs")?),
        id::TSC2NSEC => {
            let mult = cursor.u32("a clock's multiplier")?;
            let shift = cursor.u32("a clock's shift")?;
            let offset_ns = cursor.u64("a clock's offset")?;
            capture.tsc_to_ns = Some(TscToNs { mult, shift, offset_ns });
        }
        _ if id > id::LAST => {
            let message = format!("option {id} is not known and is passed over");
            capture.damages.push(Issue::info("unknown_option", message).at(cursor.offset()));
        }
        _ => {}
    }
    Ok(())
}

/// Reads an option of counters. The counters of an instance follow an option that has only `Buffer: <name>`.
fn take_stats(text: &str, capture: &mut Capture, collected: &mut Collected) {
    match text.trim_start().strip_prefix("Buffer:") {
        Some(name) => collected.stats_buffer = name.trim().to_owned(),
        None => capture.stats.push(CpuStats { buffer: collected.stats_buffer.clone(), ..CpuStats::parse(text) }),
    }
}

fn add_offset(capture: &mut Capture, offset_ns: Option<i64>) {
    capture.ts_offset_ns = capture.ts_offset_ns.wrapping_add(offset_ns.unwrap_or(0));
}

/// Gives the rest of the option as text, without NULs and white space at the end.
fn text(cursor: &mut Cursor) -> String {
    let bytes = cursor.bytes(cursor.remaining() as u64, "an option").unwrap_or_default();
    String::from_utf8_lossy(bytes).trim_end_matches(['\0', '\n', ' ']).to_owned()
}

/// Reads a decimal number, or a hexadecimal one after `0x`, with an optional sign.
fn integer(text: &str) -> Option<i64> {
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    value.ok().map(|v| if negative { -v } else { v })
}
