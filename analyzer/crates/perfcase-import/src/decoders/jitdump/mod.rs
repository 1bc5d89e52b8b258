//! jitdump: a runtime's own record of the code that it generated and moved, with times
//! (tools/perf/Documentation/jitdump-specification.txt of the kernel).

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::rc::Rc;

use perfcase_archive::{Content, Issue};

use crate::session::{NO_TIME, Session, SourceLine};
use crate::source::Source;
use perfcase_decode::perf_data::bytes::{ByteOrder, Cursor};

/// "JiTD" as the writer's machine has it.
const MAGIC: u32 = 0x4a69_5444;
/// The times are readings of the CPU's counter, not of a clock.
const ARCH_TIMESTAMP: u64 = 1;
/// Bytes of a record's own header: its kind, its size, its time.
const PREFIX_BYTES: usize = 16;

const LOAD: u32 = 0;
const MOVE: u32 = 1;
const DEBUG_INFO: u32 = 2;
const CLOSE: u32 = 3;

/// The kind of all issues with such a file.
const KIND: &str = "jitdump";

/// A jitdump file, as a source of the session.
pub struct Jitdump {
    name: String,
    content: Content,
    order: ByteOrder,
    at: usize,
    pid: i32,
    /// Take its records without asking whether the process was recorded. Otherwise take them only if it was.
    is_sure: bool,
    /// Readings of a counter do not compare with the capture's times: everything comes before them.
    has_times: bool,
    latest: i64,
    /// Lines of functions whose LOAD is still to come, by their addresses.
    lines: HashMap<u64, Vec<SourceLine>>,
    damaged_count: u64,
    first_damage: u64,
}

/// Whose code a jitdump has.
#[derive(Clone, Copy, Debug)]
pub enum Owner {
    /// A process of the capture, by the id that the capture knows it by; by the file's own word where nobody said.
    Known(Option<i32>),
    /// The file lies beside the recording: its process may be one that was not recorded.
    Unsure,
}

/// Opens a jitdump of the member or file `name`.
pub fn open(name: &str, content: Content, owner: Owner, session: &mut Session) -> Option<Box<dyn Source>> {
    let order = [ByteOrder::Little, ByteOrder::Big].into_iter().find(|order| order.u32(&content, 0) == Some(MAGIC));
    let header = order.and_then(|order| {
        let own = order.u32(&content, 20)?;
        Some((order, order.u32(&content, 8)?, own, order.u64(&content, 32)?))
    });
    let Some((order, header_bytes, own_pid, flags)) = header.filter(|(_, bytes, ..)| *bytes >= 40) else {
        session.issue(Issue::error(KIND, "no jitdump: its functions stay without names").of(name).at(0));
        return None;
    };
    // Runtimes read CLOCK_MONOTONIC; a recording by perf's own clock does not say when that was.
    let is_other_clock = session.model.host.clock.as_deref().is_some_and(|clock| clock != "monotonic");
    let has_times = flags & ARCH_TIMESTAMP == 0 && !is_other_clock;
    if flags & ARCH_TIMESTAMP != 0 {
        let message = "its times are readings of the CPU's counter: of code at one address the last is taken";
        session.issue(Issue::warning(KIND, message).of(name));
    } else if is_other_clock {
        let message = "its times are of CLOCK_MONOTONIC, the recording's of another clock: of code at one address the last is \
                       taken; perf record -k CLOCK_MONOTONIC records comparable times";
        session.issue(Issue::warning(KIND, message).of(name));
    }
    let (pid, is_sure) = match owner {
        Owner::Known(pid) => (pid, true),
        // Without times its records come before those that tell of the process.
        Owner::Unsure => (None, !has_times),
    };
    Some(Box::new(Jitdump {
        name: name.to_string(),
        order,
        at: header_bytes as usize,
        pid: pid.or(i32::try_from(own_pid).ok())?,
        is_sure,
        has_times,
        latest: NO_TIME,
        lines: HashMap::new(),
        damaged_count: 0,
        first_damage: 0,
        content,
    }))
}

impl Jitdump {
    /// Kind, body and time of the next record; `None` at the end and where the rest is damaged.
    fn peek(&self) -> Option<(u32, usize, i64)> {
        let kind = self.order.u32(&self.content, self.at)?;
        let size = self.order.u32(&self.content, self.at + 4)? as usize;
        let time = self.order.u64(&self.content, self.at + 8)?;
        let end = self.at.checked_add(size).filter(|&end| size >= PREFIX_BYTES && end <= self.content.len())?;
        Some((kind, end, i64::try_from(time).unwrap_or(NO_TIME)))
    }

    fn damage(&mut self) {
        if self.damaged_count == 0 {
            self.first_damage = self.at as u64;
        }
        self.damaged_count += 1;
    }
}

enum Change {
    Load { start: u64, size: u64, name: String },
    Move { old: u64, new: u64, size: u64 },
    Lines { start: u64, lines: Vec<SourceLine> },
    None,
}

/// What a record says; `None` when it is damaged.
fn change(kind: u32, cursor: &mut Cursor<'_>) -> Option<Change> {
    match kind {
        LOAD => {
            let (_pid, _tid, _vma) = (cursor.u32()?, cursor.u32()?, cursor.u64()?);
            let (start, size, _index) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
            let name = String::from_utf8_lossy(cursor.c_string()?).into_owned();
            Some(Change::Load { start, size, name })
        }
        MOVE => {
            let (_pid, _tid, _vma) = (cursor.u32()?, cursor.u32()?, cursor.u64()?);
            let (old, new, size) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
            Some(Change::Move { old, new, size })
        }
        DEBUG_INFO => {
            let (start, count) = (cursor.u64()?, cursor.u64()?);
            let mut lines: Vec<SourceLine> = Vec::new();
            for _ in 0..count {
                let (address, line, _column) = (cursor.u64()?, cursor.u32()?, cursor.u32()?);
                let file = match (cursor.c_string()?, lines.last()) {
                    // The same file as the line before.
                    (b"\xff", Some(last)) => last.file.clone(),
                    (name, _) => Rc::from(&*String::from_utf8_lossy(name)),
                };
                lines.push(SourceLine { offset_bytes: address.wrapping_sub(start), file, line });
            }
            lines.sort_by_key(|line| line.offset_bytes);
            Some(Change::Lines { start, lines })
        }
        // What is not known is skipped: its size says how far.
        _ => Some(Change::None),
    }
}

impl Source for Jitdump {
    fn next_ts(&self) -> Option<i64> {
        if self.at >= self.content.len() {
            return None;
        }
        let time = self.peek().map_or(NO_TIME, |(_, _, time)| time);
        Some(if self.has_times { time.max(self.latest) } else { NO_TIME })
    }

    fn step(&mut self, session: &mut Session) {
        let Some((kind, end, time)) = self.peek() else {
            // A size that cannot be: where the next record starts is not known.
            self.damage();
            self.at = self.content.len();
            return;
        };
        self.latest = self.latest.max(time);
        if !self.is_sure && session.model.threads.find_process(self.pid).is_none() {
            self.at = if kind == CLOSE { self.content.len() } else { end };
            return;
        }
        let content = self.content.clone();
        let mut cursor = Cursor::new(&content[self.at + PREFIX_BYTES..end], self.order);
        match change(kind, &mut cursor) {
            Some(Change::Load { start, size, name }) => {
                let lines = self.lines.remove(&start).unwrap_or_default();
                session.code_loaded(self.pid, start, size, &name, lines);
            }
            Some(Change::Move { old, new, size }) if !session.code_moved(self.pid, old, new, size) => self.damage(),
            Some(Change::Lines { start, lines }) => {
                self.lines.insert(start, lines);
            }
            Some(_) => {}
            None => self.damage(),
        }
        self.at = if kind == CLOSE { self.content.len() } else { end };
    }

    fn finish(&mut self, session: &mut Session) {
        if self.damaged_count > 0 {
            let message = "records are damaged, or move code that was not loaded: some functions stay without names";
            let issue = Issue::warning(KIND, message).of(&self.name);
            session.issue(issue.at(self.first_damage).count(self.damaged_count));
        }
    }
}
