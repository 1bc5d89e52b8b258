//! jitdump: a runtime's record of the code that it generated and moved, with times
//! (tools/perf/Documentation/jitdump-specification.txt of the kernel).

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Deref;
use std::rc::Rc;

use perfcase_archive::Issue;

use crate::NO_TIME;
use crate::perf_data::bytes::{ByteOrder, Cursor};

/// "JiTD" in the byte order of the writer's machine.
const MAGIC: u32 = 0x4a69_5444;
/// The flag for times that are readings of the CPU's counter.
const ARCH_TIMESTAMP: u64 = 1;
/// Bytes of a record's head: its kind, its size, its time.
const PREFIX_BYTES: usize = 16;

/// A function was generated.
const LOAD: u32 = 0;
/// A function was moved.
const MOVE: u32 = 1;
/// The source lines of a function, before its LOAD.
const DEBUG_INFO: u32 = 2;
/// The file ends.
const CLOSE: u32 = 3;

/// The kind of all issues with such a file.
pub const ISSUE: &str = "jitdump";

/// The source line of generated code from an offset on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourceLine {
    /// Distance from the function's start in bytes.
    pub offset_bytes: u64,
    /// Source file.
    pub file: Rc<str>,
    /// Line.
    pub line: u32,
}

/// What a record says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Event {
    /// A function was generated.
    Load {
        /// Its address.
        start: u64,
        /// Its size in bytes.
        size_bytes: u64,
        /// Its name.
        name: String,
        /// Its source lines, sorted by their offsets.
        lines: Vec<SourceLine>,
    },
    /// A function was moved.
    Move {
        /// Its address before.
        old_start: u64,
        /// Its address now.
        start: u64,
        /// Its size in bytes.
        size_bytes: u64,
    },
}

/// The records of a jitdump, one after the other.
pub struct Jitdump<B> {
    bytes: B,
    order: ByteOrder,
    /// Where the next record is.
    at: usize,
    /// The process's id in the file; `None` where it is no valid id.
    pub pid: Option<i32>,
    /// Times are readings of the CPU's counter, which compare only with each other.
    pub has_counter_times: bool,
    /// Lines of functions whose LOAD is still to come, by their addresses.
    lines: HashMap<u64, Vec<SourceLine>>,
    damaged_count: u64,
    first_damage: u64,
}

impl<B: Deref<Target = [u8]>> Jitdump<B> {
    /// Reads the header.
    ///
    /// # Errors
    /// The issue with bytes that are no jitdump.
    pub fn open(bytes: B) -> Result<Jitdump<B>, Issue> {
        let order = [ByteOrder::Little, ByteOrder::Big].into_iter().find(|order| order.u32(&bytes, 0) == Some(MAGIC));
        let header = order.and_then(|order| {
            let pid = order.u32(&bytes, 20)?;
            Some((order, order.u32(&bytes, 8)?, pid, order.u64(&bytes, 32)?))
        });
        let Some((order, header_bytes, pid, flags)) = header.filter(|(_, header_bytes, ..)| *header_bytes >= 40) else {
            return Err(Issue::error(ISSUE, "no jitdump: its functions stay without names").at(0));
        };
        Ok(Jitdump {
            bytes,
            order,
            at: header_bytes as usize,
            pid: i32::try_from(pid).ok(),
            has_counter_times: flags & ARCH_TIMESTAMP != 0,
            lines: HashMap::new(),
            damaged_count: 0,
            first_damage: 0,
        })
    }

    /// Gives the time of the next record in ns of the file's clock, [`NO_TIME`] where it has none; `None` at the end.
    pub fn next_time(&self) -> Option<i64> {
        (self.at < self.bytes.len()).then(|| self.head().map_or(NO_TIME, |head| head.time))
    }

    /// Gives the place of the next record, in bytes.
    pub fn at(&self) -> u64 {
        self.at as u64
    }

    /// Goes past the next record without reading it.
    pub fn skip(&mut self) {
        self.pass();
    }

    /// Reads the next record. `None` for a record that is damaged, or that is not about a function.
    pub fn read(&mut self) -> Option<Event> {
        let at = self.at;
        let head = self.pass()?;
        let mut body = Cursor::new(&self.bytes[at + PREFIX_BYTES..head.end], self.order);
        let record = record(head.kind, &mut body);
        match record {
            Some(Record::Load { start, size_bytes, name }) => {
                let lines = self.lines.remove(&start).unwrap_or_default();
                return Some(Event::Load { start, size_bytes, name, lines });
            }
            Some(Record::Move { old_start, start, size_bytes }) => {
                return Some(Event::Move { old_start, start, size_bytes });
            }
            Some(Record::Lines { start, lines }) => {
                self.lines.insert(start, lines);
            }
            Some(Record::Other) => {}
            None => self.count_damage(at as u64),
        }
        None
    }

    /// Counts the record at this place, in bytes, as damaged.
    pub fn count_damage(&mut self, at: u64) {
        if self.damaged_count == 0 {
            self.first_damage = at;
        }
        self.damaged_count += 1;
    }

    /// Gives the problem with the records so far.
    pub fn problem(&self) -> Option<Issue> {
        let message = "records are damaged, or move code that was not loaded: some functions stay without names";
        let issue = || Issue::warning(ISSUE, message).at(self.first_damage).count(self.damaged_count);
        (self.damaged_count > 0).then(issue)
    }

    /// Reads the head of the next record. `None` at the end and where the rest is damaged.
    fn head(&self) -> Option<Head> {
        let kind = self.order.u32(&self.bytes, self.at)?;
        let size = self.order.u32(&self.bytes, self.at + 4)? as usize;
        let time = self.order.u64(&self.bytes, self.at + 8)?;
        let end = self.at.checked_add(size).filter(|&end| size >= PREFIX_BYTES && end <= self.bytes.len())?;
        Some(Head { kind, end, time: i64::try_from(time).unwrap_or(NO_TIME) })
    }

    /// Goes past the next record. If its size is wrong, the place of the following record is unknown, and the file ends
    /// here.
    fn pass(&mut self) -> Option<Head> {
        let head = self.head();
        if head.is_none() {
            self.count_damage(self.at as u64);
        }
        self.at = head.filter(|head| head.kind != CLOSE).map_or(self.bytes.len(), |head| head.end);
        head
    }
}

/// The head of a record.
#[derive(Clone, Copy)]
struct Head {
    kind: u32,
    /// Where the record ends.
    end: usize,
    time: i64,
}

enum Record {
    Load { start: u64, size_bytes: u64, name: String },
    Move { old_start: u64, start: u64, size_bytes: u64 },
    Lines { start: u64, lines: Vec<SourceLine> },
    Other,
}

/// Reads a record's body; `None` when it is damaged.
fn record(kind: u32, body: &mut Cursor<'_>) -> Option<Record> {
    match kind {
        LOAD => {
            let (_pid, _tid, _vma) = (body.u32()?, body.u32()?, body.u64()?);
            let (start, size_bytes, _index) = (body.u64()?, body.u64()?, body.u64()?);
            let name = String::from_utf8_lossy(body.c_string()?).into_owned();
            Some(Record::Load { start, size_bytes, name })
        }
        MOVE => {
            let (_pid, _tid, _vma) = (body.u32()?, body.u32()?, body.u64()?);
            let (old_start, start, size_bytes) = (body.u64()?, body.u64()?, body.u64()?);
            Some(Record::Move { old_start, start, size_bytes })
        }
        DEBUG_INFO => {
            let (start, count) = (body.u64()?, body.u64()?);
            let mut lines: Vec<SourceLine> = Vec::new();
            for _ in 0..count {
                let (address, line, _column) = (body.u64()?, body.u32()?, body.u32()?);
                let file = match (body.c_string()?, lines.last()) {
                    // The same file as the line before.
                    (b"\xff", Some(last)) => last.file.clone(),
                    (name, _) => Rc::from(&*String::from_utf8_lossy(name)),
                };
                lines.push(SourceLine { offset_bytes: address.wrapping_sub(start), file, line });
            }
            lines.sort_by_key(|line| line.offset_bytes);
            Some(Record::Lines { start, lines })
        }
        // An unknown record is skipped: its size says how far.
        _ => Some(Record::Other),
    }
}
