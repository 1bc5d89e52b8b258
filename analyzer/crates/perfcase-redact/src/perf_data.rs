//! The records of a perf.data.
//!
//! What a processor traced (AUX) is in no format that is known here: it becomes zeros. So do the programs of BPF that perf saves: nothing
//! reads them, and they hold addresses of the kernel.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use perfcase_decode::format::EventFormat;
use perfcase_decode::perf_data::bytes::{ByteOrder, until_nul};
use perfcase_decode::perf_data::features::number;
use perfcase_decode::perf_data::header::{self, FileSections, Section};
use perfcase_decode::perf_data::plain::{Own, own_record, records_of};
use perfcase_decode::perf_data::record::{HEADER_BYTES, RecordHeader, kind};
use perfcase_decode::perf_data::recording::Recording;
use perfcase_decode::perf_data::sample::{More, Plan};
use perfcase_decode::perf_data::scan::scan;

use crate::layout::Layout;
use crate::visit::Visitor;
use crate::{Refused, damage, unwound};

const TRACEPOINT: u32 = 2;
/// The events of the recorder's own programs (`schema/README.md`, `stacks/perf.data`).
const OWN: [&str; 3] = ["switch-stacks", "wakeup-stacks", "wait-stacks"];

/// The records of perf itself that hold values.
const OWN_KINDS: [u32; 5] =
    [kind::HEADER_FEATURE, kind::AUXTRACE_INFO, kind::AUXTRACE, kind::AUXTRACE_ERROR, kind::BPF_METADATA];

/// Changes with fewer bytes between them are written together, up to so many at once.
const GAP_BYTES: usize = 64 << 10;
const TOGETHER_BYTES: usize = 1 << 20;

/// Visits each record. With `out`, what a record has become is written there, at its place.
pub fn visit(file: &[u8], out: Option<&File>, visitor: &mut Visitor) -> Result<(), Refused> {
    let recording = scan(file).map_err(|error| Refused::new(error.to_string()))?;
    check(&recording)?;
    let walk = Walk { file, out, order: recording.order, numbers: Numbers::new(visitor) };
    let mut changed = Changed { file, out, begin: 0, bytes: Vec::new() };
    let layouts = layouts(&recording, visitor);
    let arch = recording.features.arch.as_deref();
    for entry in recording.entries(file) {
        let Some((header, body)) = recording.record(file, entry) else { continue };
        let at = recording.file_offset(entry) as usize + HEADER_BYTES;
        let mut made = body.to_vec();
        if header.kind == kind::SAMPLE {
            let event = recording.events.of_record(header, body).and_then(|index| recording.events.get(index));
            let Some(event) = event else { return Err(Refused::new("a sample belongs to no event")) };
            let layout = (event.attr.kind == TRACEPOINT).then(|| layouts.get(&event.attr.config)).flatten();
            let is_own = event.name.as_deref().is_some_and(|name| OWN.contains(&name));
            sample(body, &mut made, &event.plan, (layout, arch, is_own, recording.order), visitor)?;
            if visitor.changes.is_some() && !visitor.unwound.is_empty() {
                let (sample, _) = event.plan.sample(body);
                if let Some(with_callers) =
                    unwound::with_callers((file, body), &sample, &made, recording.order, visitor)
                {
                    made = with_callers;
                }
            }
        } else {
            walk.record(header, body, &mut made, visitor);
        }
        changed.put(at, body, &made)?;
    }
    changed.write()?;
    let head = header::parse(file).map_err(|error| Refused::new(error.to_string()))?;
    if OWN_KINDS.iter().any(|kind| recording.counts.contains_key(kind)) {
        walk.own_records(records_of(file, head.sections.as_ref()), visitor)?;
    }
    match &head.sections {
        Some(sections) => walk.features(sections, visitor),
        None => Ok(()),
    }
}

/// Changes that come in the order of the file, written together: what lies between two of them is as it was.
struct Changed<'a> {
    file: &'a [u8],
    out: Option<&'a File>,
    begin: usize,
    bytes: Vec<u8>,
}

impl Changed<'_> {
    fn put(&mut self, at: usize, before: &[u8], made: &[u8]) -> io::Result<()> {
        if before == made || self.out.is_none() {
            return Ok(());
        }
        let end = self.begin + self.bytes.len();
        let is_near = at >= end && at - end <= GAP_BYTES && self.bytes.len() < TOGETHER_BYTES;
        match self.file.get(end..at).filter(|_| is_near && !self.bytes.is_empty()) {
            Some(between) => self.bytes.extend_from_slice(between),
            None => {
                self.write()?;
                self.begin = at;
            }
        }
        self.bytes.extend_from_slice(made);
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        if let Some(out) = self.out.filter(|_| !self.bytes.is_empty()) {
            out.write_all_at(&self.bytes, self.begin as u64)?;
        }
        self.bytes.clear();
        Ok(())
    }
}

fn check(recording: &Recording) -> Result<(), Refused> {
    damage(recording.problems.list())?;
    if !recording.arena.is_empty() || recording.features.compression.is_some() {
        return Err(Refused::new("its records are compressed, in a way that is not known"));
    }
    if recording.simpleperf.is_some() || recording.features.is_directory {
        let why = "it is not a file of perf record alone: a recording of simpleperf, or a folder";
        return Err(Refused::new(why).hint("record with perf record, without --threads"));
    }
    Ok(())
}

fn layouts(recording: &Recording, visitor: &mut Visitor) -> HashMap<u64, Layout> {
    let Some(tracing) = &recording.tracing else { return HashMap::new() };
    let formats = tracing.formats.iter().filter_map(|(system, text)| EventFormat::parse(system, text).ok());
    let with_size = formats.map(|mut format| {
        format.set_long_size(tracing.long_bytes.into());
        format
    });
    with_size.map(|format| (format.id.into(), Layout::new(&format, tracing.order, visitor))).collect()
}

/// The registers with the address of an instruction: it is no secret, and a stack begins there. On ARM a sample with frame pointers has
/// only the link register, which has the caller of a function that calls no other.
fn code_registers(arch: Option<&str>, mask: u64) -> u64 {
    const LINK: u64 = 1 << 30;
    match arch {
        Some("x86_64" | "i686" | "i386") => 1 << 8,
        Some("aarch64" | "arm64") if mask == LINK => LINK,
        Some("aarch64" | "arm64") => 1 << 32,
        _ => 0,
    }
}

fn sample(
    body: &[u8],
    made: &mut [u8],
    plan: &Plan,
    (layout, arch, is_own, order): (Option<&Layout>, Option<&str>, bool, ByteOrder),
    visitor: &mut Visitor,
) -> Result<(), Refused> {
    let (sample, problem) = plan.sample(body);
    if problem.is_some() {
        return Err(Refused::new("a sample is damaged"));
    }
    let place = |part: &[u8]| {
        let start = part.as_ptr() as usize - body.as_ptr() as usize;
        start..start + part.len()
    };
    // Texts and copies of memory are not words.
    let mut kept = Vec::new();
    if let Some(raw) = sample.raw {
        let range = place(raw);
        match layout {
            Some(layout) => layout.visit(&mut made[range.clone()], visitor),
            // A time, and padding.
            None if is_own && raw.len() <= 16 => {}
            None => visitor.removed.unknown += u64::from(visitor.erase(&mut made[range.clone()])),
        }
        kept.push(range);
    }
    if let Some(more) = &sample.more {
        let More { stack_user, regs_user, regs_intr, aux, .. } = **more;
        let mut is_copy = false;
        // Behind what the kernel copied of the stack is what its buffer held before.
        let whole_stack = stack_user.map(|stack| {
            let start = place(stack.bytes).start;
            start..start + stack.requested_bytes as usize
        });
        for range in [whole_stack, aux.map(place)].into_iter().flatten() {
            is_copy |= visitor.erase(&mut made[range.clone()]);
            kept.push(range);
        }
        for registers in [regs_user, regs_intr].into_iter().flatten() {
            let range = place(registers.values.bytes());
            let code = code_registers(arch, registers.mask);
            let numbers = (0..64).filter(|number| registers.mask >> number & 1 == 1);
            for (number, at) in numbers.zip((range.start..range.end).step_by(8)) {
                if code >> number & 1 == 0 {
                    is_copy |= visitor.erase(&mut made[at..at + 8]);
                }
            }
        }
        visitor.removed.memory += u64::from(is_copy);
    }
    kept.sort_by_key(|range| range.start);
    let mut at = 0;
    for range in kept {
        visitor.words(&mut made[at..range.start.max(at)], order);
        at = range.end.next_multiple_of(8).min(made.len());
    }
    visitor.words(&mut made[at..], order);
    Ok(())
}

/// The numbers of the texts that are not of tracepoints.
struct Numbers {
    mapped: usize,
    group: usize,
    host: usize,
    command_line: usize,
    argument: usize,
}

impl Numbers {
    fn new(visitor: &mut Visitor) -> Numbers {
        let mut number = |column: &str| visitor.number("perf.data", column);
        let (mapped, group) = (number("path"), number("cgroup"));
        let (host, command_line, argument) = (number("hostname"), number("command_line"), number("argument"));
        Numbers { mapped, group, host, command_line, argument }
    }
}

/// Which words of perf's command line are those of the command that it recorded, or a name of the user's.
#[derive(Default)]
struct Words {
    has_begun: bool,
    /// The place in the recorded command of the next word.
    in_command: Option<usize>,
    before: Vec<u8>,
}

impl Words {
    /// The options of perf record whose value is the next word (its manual page).
    const WITH_VALUE: &[&str] = &[
        "-e",
        "-t",
        "-p",
        "-c",
        "-F",
        "-m",
        "-C",
        "-G",
        "-D",
        "-u",
        "-j",
        "-k",
        "-r",
        "-o",
        "--event",
        "--filter",
        "--pid",
        "--tid",
        "--realtime",
        "--count",
        "--output",
        "--freq",
        "--mmap-pages",
        "--call-graph",
        "--cpu",
        "--cgroup",
        "--delay",
        "--uid",
        "--branch-filter",
        "--clockid",
        "--affinity",
        "--max-size",
        "--control",
        "--vmlinux",
        "--switch-max-files",
        "--proc-map-timeout",
        "--num-thread-synthesize",
        "--synth",
        "--off-cpu-thresh",
        "--clang-path",
        "--clang-opt",
        "--debuginfod",
    ];
    /// Those of them whose value is a name or a condition.
    const WITH_NAME: &[&str] = &["-G", "--cgroup", "--filter"];

    /// Takes the next word. The first word of the command is a program, which is no secret.
    fn is_private(&mut self, word: &[u8]) -> bool {
        let before = std::mem::replace(&mut self.before, word.to_vec());
        let before = std::str::from_utf8(&before).unwrap_or_default();
        if let Some(place) = &mut self.in_command {
            *place += 1;
            return *place > 1;
        }
        if !self.has_begun {
            // perf, its tool, and `record` behind a tool such as sched.
            self.has_begun = word.starts_with(b"-") || matches!(word, b"record" | b"stat" | b"trace");
            return false;
        }
        if Self::WITH_VALUE.contains(&before) {
            return Self::WITH_NAME.contains(&before);
        }
        if word == b"--" || !word.starts_with(b"-") {
            self.in_command = (word != b"record").then_some(usize::from(word != b"--"));
            return false;
        }
        Self::WITH_NAME.iter().any(|name| word.len() > name.len() && word.starts_with(name.as_bytes()))
    }
}

struct Walk<'a> {
    file: &'a [u8],
    out: Option<&'a File>,
    order: ByteOrder,
    numbers: Numbers,
}

impl Walk<'_> {
    fn record(&self, header: RecordHeader, body: &[u8], made: &mut [u8], visitor: &mut Visitor) {
        let words = |made: &mut [u8], at: usize, visitor: &mut Visitor| {
            if let Some(word) = made.get_mut(at..at + 8) {
                visitor.words(word, self.order);
            }
        };
        let (number, path_at) = match header.kind {
            kind::MMAP => (self.numbers.mapped, 32),
            kind::MMAP2 => (self.numbers.mapped, 64),
            kind::CGROUP => (self.numbers.group, 8),
            kind::KSYMBOL | kind::TEXT_POKE => return words(made, 0, visitor),
            kind::CALLCHAIN_DEFERRED => return visitor.words(made, self.order),
            _ => return,
        };
        if header.kind != kind::CGROUP {
            words(made, 8, visitor);
            words(made, 24, visitor);
        }
        let length = body.get(path_at..).and_then(|rest| rest.iter().position(|&byte| byte == 0));
        if let Some(length) = length {
            visitor.bytes(number, &mut made[path_at..path_at + length]);
        }
    }

    /// Visits the records of perf itself: in a stream they have what is behind the records of a file.
    fn own_records(&self, (mut at, end): (usize, usize), visitor: &mut Visitor) -> Result<(), Refused> {
        let records = &self.file[..end];
        while at < end {
            let Some(found) = own_record(records, at, self.order) else {
                return Err(Refused::new(format!("there is no record at byte {at}")));
            };
            at = found.next;
            self.own_record(&found, visitor)?;
        }
        Ok(())
    }

    fn own_record(&self, found: &Own<'_>, visitor: &mut Visitor) -> Result<(), Refused> {
        if !OWN_KINDS.contains(&found.header.kind) {
            return Ok(());
        }
        let body_at = found.at + HEADER_BYTES;
        let Some(bytes) = self.file.get(body_at..found.next) else { return Ok(()) };
        let mut made = bytes.to_vec();
        match found.header.kind {
            kind::HEADER_FEATURE => {
                let number = self.order.u64(bytes, 0).and_then(|number| u32::try_from(number).ok());
                if let (Some(number), Some(feature)) = (number, made.get_mut(8..)) {
                    self.feature(number, feature, visitor);
                }
            }
            // Each begins with a word that says what it is, or how long.
            kind::AUXTRACE_INFO | kind::BPF_METADATA => self.erase(&mut made, 8, visitor),
            kind::AUXTRACE => self.erase(&mut made, found.body.len(), visitor),
            kind::AUXTRACE_ERROR => visitor.words(&mut made, self.order),
            _ => {}
        }
        Ok(self.write(body_at, bytes, &made)?)
    }

    fn erase(&self, made: &mut [u8], from: usize, visitor: &mut Visitor) {
        let is_some = made.get_mut(from..).is_some_and(|rest| visitor.erase(rest));
        visitor.removed.unknown += u64::from(is_some);
    }

    /// Visits the sections behind the records.
    fn features(&self, sections: &FileSections, visitor: &mut Visitor) -> Result<(), Refused> {
        let mut lists = vec![(sections.features.clone(), sections.data.offset.saturating_add(sections.data.size))];
        lists.extend(header::features_before(self.file, &sections.data, self.order));
        for (features, list_at) in lists {
            for (index, feature) in features.into_iter().enumerate() {
                let at = usize::try_from(list_at).unwrap_or(usize::MAX).saturating_add(index * 16);
                let section = || {
                    Some(Section { offset: self.order.u64(self.file, at)?, size: self.order.u64(self.file, at + 8)? })
                };
                let Some((section, bytes)) = section().and_then(|section| Some((section, section.of(self.file)?)))
                else {
                    continue;
                };
                let mut made = bytes.to_vec();
                self.feature(feature, &mut made, visitor);
                self.write(section.offset as usize, bytes, &made)?;
            }
        }
        Ok(())
    }

    /// Visits the name of the host, perf's own command line, and what BPF runs.
    fn feature(&self, number: u32, made: &mut [u8], visitor: &mut Visitor) {
        match number {
            number::HOSTNAME => drop(self.string(made, 0, self.numbers.host, visitor)),
            number::CMDLINE => self.command_line(made, visitor),
            // Their numbers of entries stay 0.
            number::BPF_PROG_INFO | number::BPF_BTF => self.erase(made, 0, visitor),
            _ => {}
        }
    }

    fn command_line(&self, made: &mut [u8], visitor: &mut Visitor) {
        let mut next = 4;
        let mut words = Words::default();
        for _ in 0..self.order.u32(made, 0).unwrap_or(0) {
            let word = until_nul(made.get(next + 4..).unwrap_or_default());
            let number = if words.is_private(word) { self.numbers.argument } else { self.numbers.command_line };
            let Some(end) = self.string(made, next, number, visitor) else { break };
            next = end;
        }
    }

    /// Visits a string: its padded length, then the bytes with NULs. Gives the place behind it.
    fn string(&self, made: &mut [u8], at: usize, number: usize, visitor: &mut Visitor) -> Option<usize> {
        let length = self.order.u32(made, at)? as usize;
        let end = (at + 4).checked_add(length)?;
        visitor.text(number, made.get_mut(at + 4..end)?);
        Some(end)
    }

    fn write(&self, at: usize, before: &[u8], made: &[u8]) -> io::Result<()> {
        match self.out {
            Some(out) if before != made => out.write_all_at(made, at as u64),
            _ => Ok(()),
        }
    }
}
