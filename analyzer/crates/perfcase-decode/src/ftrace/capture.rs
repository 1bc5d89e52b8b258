//! What a trace says about itself, in a trace.dat or in a folder of pages.

use perfcase_archive::Issue;

use super::compression::{Compression, Room};
use super::layout::PageLayout;
use super::stream::Segment;
use crate::format::{EventFormat, FieldKind, FormatError};

/// The text of one `format` file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatText {
    /// The subsystem.
    pub system: String,
    /// The text, as the kernel gave it.
    pub text: String,
}

/// One ring buffer: the top one or an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buffer {
    /// The instance's name; empty for the top buffer.
    pub name: String,
    /// The clock's name, such as `mono`; empty where the trace does not name it.
    pub clock: String,
    /// How its pages are laid out.
    pub layout: PageLayout,
    /// The CPUs that have data, in the order of the file.
    pub cpus: Vec<CpuData>,
}

/// Where one CPU's pages are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuData {
    /// The CPU's number.
    pub cpu: u32,
    /// Its pages in order.
    pub segments: Vec<Segment>,
}

/// How x86 time-stamp counter values become nanoseconds: `(ts * mult >> shift) + offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TscToNs {
    /// Multiplier.
    pub mult: u32,
    /// Right shift, in bits.
    pub shift: u32,
    /// Added after the shift, in ns.
    pub offset_ns: u64,
}

impl TscToNs {
    /// Converts a time of the `x86-tsc` clock to ns.
    pub fn convert(&self, ts: u64) -> u64 {
        let scaled = (u128::from(ts) * u128::from(self.mult)).checked_shr(self.shift).unwrap_or(0);
        (scaled as u64).wrapping_add(self.offset_ns)
    }
}

/// The recorded machine, by a text such as `Linux HOST 6.1.0 x86_64`. What the text lacks is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uname<'a> {
    /// The host's name.
    pub hostname: Option<&'a str>,
    /// The kernel's release.
    pub release: Option<&'a str>,
    /// The architecture.
    pub machine: Option<&'a str>,
}

impl Uname<'_> {
    /// Reads the text.
    pub fn parse(text: &str) -> Uname<'_> {
        let mut words = text.split_ascii_whitespace().skip(1);
        Uname { hostname: words.next(), release: words.next(), machine: words.next() }
    }
}

/// Counters of one CPU's ring buffer at the end of the recording, from `per_cpu/cpuN/stats`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CpuStats {
    /// The name of the ring buffer; empty for the top one.
    pub buffer: String,
    /// The CPU's number.
    pub cpu: u32,
    /// Events that were in the buffer and not yet read when the counters were read.
    pub entries: Option<u64>,
    /// Events overwritten before they were read.
    pub overrun: Option<u64>,
    /// Events dropped because another event interrupted them at the buffer's end.
    pub commit_overrun: Option<u64>,
    /// Events dropped because the buffer was full.
    pub dropped: Option<u64>,
    /// Events read.
    pub read: Option<u64>,
}

impl CpuStats {
    /// Reads the text of a `stats` file. A trace.dat has the number of the CPU in the first line (`CPU: 3`), a folder
    /// in the file's name.
    pub fn parse(text: &str) -> CpuStats {
        let mut stats = CpuStats::default();
        for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
            let number = value.trim().parse::<u64>().ok();
            match key.trim() {
                "CPU" => stats.cpu = number.and_then(|n| u32::try_from(n).ok()).unwrap_or(0),
                "entries" => stats.entries = number,
                "overrun" => stats.overrun = number,
                "commit overrun" => stats.commit_overrun = number,
                "dropped events" => stats.dropped = number,
                "read events" => stats.read = number,
                _ => {}
            }
        }
        stats
    }
}

/// Removes the length from the format of a kernel stack. The format has eight addresses, a record as many as the stack
/// had (kernel: `ftrace_trace_stack`).
fn open_stack(format: &mut EventFormat, word: u32) {
    if (format.system.as_str(), format.name.as_str()) != ("ftrace", "kernel_stack") {
        return;
    }
    for caller in format.fields.iter_mut().filter(|field| field.name == "caller") {
        caller.size = 0;
        caller.kind = FieldKind::IntArray { elem_size: if word == 4 { 4 } else { 8 }, count: 0 };
    }
}

/// A whole trace: its descriptions and where its pages are.
#[derive(Debug, Clone)]
pub struct Capture {
    /// 6 or 7 for a trace.dat; 0 for a folder of pages.
    pub version: u32,
    /// Byte order of the recording machine.
    pub big_endian: bool,
    /// The word size of the machine's user space, in bytes.
    pub long_size: u8,
    /// How sections and pages are compressed.
    pub compression: Compression,
    /// The memory that its parts may still take.
    pub room: Room,
    /// The text of `events/header_page`; empty where missing.
    pub header_page: String,
    /// Format texts of all recorded events, `ftrace`'s own first.
    pub formats: Vec<FormatText>,
    /// /proc/kallsyms of the recording machine.
    pub kallsyms: Vec<u8>,
    /// `printk_formats`: addresses of trace_printk format strings.
    pub printk_formats: Vec<u8>,
    /// `saved_cmdlines`: `<pid> <name>` lines.
    pub saved_cmdlines: Vec<u8>,
    /// The ring buffers, the top one first.
    pub buffers: Vec<Buffer>,
    /// The number of the machine's CPUs, where the trace has it.
    pub cpu_count: Option<u32>,
    /// The machine as trace-cmd describes it, for [`Uname::parse`].
    pub uname: Option<String>,
    /// Version of the recording tool.
    pub tool_version: Option<String>,
    /// The ring buffers' counters.
    pub stats: Vec<CpuStats>,
    /// The ns that trace-cmd adds to every time when it prints it (`--date`, `--ts-offset`). Times of a [`Buffer`] are
    /// without it.
    pub ts_offset_ns: i64,
    /// Conversion of the `x86-tsc` clock.
    pub tsc_to_ns: Option<TscToNs>,
    /// The text of a latency trace (of an old `trace-cmd record -p wakeup`), which has no pages.
    pub latency_text: Option<Vec<u8>>,
    /// Problems that were found while reading.
    pub damages: Vec<Issue>,
}

impl Capture {
    pub(crate) fn empty(version: u32, big_endian: bool, long_size: u8, file_bytes: usize) -> Capture {
        Capture {
            version,
            big_endian,
            long_size,
            compression: Compression::None,
            room: Room::of_file(file_bytes),
            header_page: String::new(),
            formats: Vec::new(),
            kallsyms: Vec::new(),
            printk_formats: Vec::new(),
            saved_cmdlines: Vec::new(),
            buffers: Vec::new(),
            cpu_count: None,
            uname: None,
            tool_version: None,
            stats: Vec::new(),
            ts_offset_ns: 0,
            tsc_to_ns: None,
            latency_text: None,
            damages: Vec::new(),
        }
    }

    /// Reads the formats with the kernel's word size; also gives the errors of those that cannot be read.
    pub fn parse_formats(&self) -> (Vec<EventFormat>, Vec<FormatError>) {
        let word = self.buffers.first().map_or(u32::from(self.long_size), |b| b.layout.commit_size as u32);
        let (mut formats, mut errors) = (Vec::with_capacity(self.formats.len()), Vec::new());
        for FormatText { system, text } in &self.formats {
            match EventFormat::parse(system, text) {
                Ok(mut format) => {
                    format.set_long_size(word);
                    open_stack(&mut format, word);
                    formats.push(format);
                }
                Err(error) => errors.push(error),
            }
        }
        (formats, errors)
    }

    /// The `<pid> <name>` pairs of `saved_cmdlines`.
    pub fn comms(&self) -> impl Iterator<Item = (i32, &[u8])> {
        self.saved_cmdlines.split(|b| *b == b'\n').filter_map(|line| {
            let space = line.iter().position(|b| *b == b' ')?;
            let pid = std::str::from_utf8(&line[..space]).ok()?.parse().ok()?;
            Some((pid, &line[space + 1..]))
        })
    }
}
