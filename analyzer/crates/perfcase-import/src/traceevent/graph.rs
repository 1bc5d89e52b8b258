//! Function graphs and kernel stacks. trace-cmd prints these events by its own code, not by their print format. The
//! lines here look like those of `trace-cmd report` (3.1.6).

use std::fmt::Write;

use perfcase_decode::format::EventFormat;
use perfcase_decode::ftrace::events::CommonFields;

use super::printer::Record;

/// The number of columns by which a call is indented for each call above it.
const INDENT: usize = 2;

/// A number in a record: offset and size in bytes.
type Place = (usize, usize);

#[derive(Debug, Clone, Copy)]
struct Entry {
    id: u32,
    func: Place,
    depth: Place,
}

#[derive(Debug, Clone, Copy)]
struct Exit {
    id: u32,
    func: Place,
    depth: Place,
    calltime: Place,
    rettime: Place,
}

/// The places of the fields of these events.
pub(super) struct GraphFields {
    common: CommonFields,
    big_endian: bool,
    long_size: usize,
    entry: Option<Entry>,
    exit: Option<Exit>,
    /// The number of the `kernel_stack` event, and the offset where its addresses begin.
    stack: Option<(u32, usize)>,
}

impl GraphFields {
    pub(super) fn new(big_endian: bool, long_size: u8) -> GraphFields {
        let common = CommonFields::of(&[], big_endian);
        let long_size = if long_size == 4 { 4 } else { 8 };
        GraphFields { common, big_endian, long_size, entry: None, exit: None, stack: None }
    }

    /// Notes the format if it is that of one of these events.
    pub(super) fn learn(&mut self, format: &EventFormat) {
        let place = |name: &str| format.field(name).map(|f| (f.offset as usize, f.size as usize));
        let id = format.id;
        match (format.system.as_str(), format.name.as_str()) {
            ("ftrace", "funcgraph_entry") => {
                self.entry = (|| Some(Entry { id, func: place("func")?, depth: place("depth")? }))();
            }
            ("ftrace", "funcgraph_exit") => {
                self.exit = (|| {
                    let (calltime, rettime) = (place("calltime")?, place("rettime")?);
                    Some(Exit { id, func: place("func")?, depth: place("depth")?, calltime, rettime })
                })();
            }
            ("ftrace", "kernel_stack") => self.stack = place("caller").map(|(offset, _)| (id, offset)),
            _ => {}
        }
    }

    fn number(&self, record: &[u8], (offset, size): Place) -> Option<u64> {
        let bytes = record.get(offset..offset.checked_add(size)?)?;
        if size > 8 {
            return None;
        }
        let fold = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        Some(if self.big_endian { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) })
    }

    /// Gives the return of the call, if the next record is that return.
    fn leaf<'a>(&self, record: &Record<'a>, entry: Entry) -> Option<&'a [u8]> {
        let (exit, next) = (self.exit?, record.following?);
        let same = self.common.id(next)? == exit.id
            && self.common.pid(next)? == self.common.pid(record.data)?
            && self.number(next, exit.func)? == self.number(record.data, entry.func)?;
        same.then_some(next)
    }
}

/// Tells whether the record is a call whose return is the next record: then they share one line.
pub(super) fn is_leaf(fields: &GraphFields, record: &[u8], following: &[u8]) -> bool {
    let record = &Record { ts: 0, cpu: 0, data: record, following: Some(following) };
    let is_entry = |entry: &Entry| fields.common.id(record.data) == Some(entry.id);
    fields.entry.filter(is_entry).is_some_and(|entry| fields.leaf(record, entry).is_some())
}

/// Gives the text of a record of these events; `None` for every other event, and for a record that is too short.
pub(super) fn text(
    fields: &GraphFields,
    id: u32,
    record: &Record,
    function: &dyn Fn(u64) -> Option<String>,
) -> Option<String> {
    let name = |address: u64| function(address).unwrap_or_else(|| format!("{address:x}"));
    if let Some(entry) = fields.entry.filter(|entry| entry.id == id) {
        let name = name(fields.number(record.data, entry.func)?);
        let indent = indent(fields.number(record.data, entry.depth)?);
        return Some(match fields.leaf(record, entry).zip(fields.exit) {
            Some((returned, exit)) => format!("{}{indent}{name}();", duration(fields, exit, returned)?),
            None => format!("{:13}|  {indent}{name}() {{", ""),
        });
    }
    if let Some(exit) = fields.exit.filter(|exit| exit.id == id) {
        let indent = indent(fields.number(record.data, exit.depth)?);
        return Some(format!("{}{indent}}}", duration(fields, exit, record.data)?));
    }
    let (_, offset) = fields.stack.filter(|(stack, _)| *stack == id)?;
    Some(stack_text(fields, record.data, offset, function))
}

fn stack_text(fields: &GraphFields, record: &[u8], offset: usize, function: &dyn Fn(u64) -> Option<String>) -> String {
    let mut text = String::from("<stack trace >\n");
    for word in record.get(offset..).unwrap_or_default().chunks_exact(fields.long_size) {
        let address = fields.number(word, (0, fields.long_size)).unwrap_or_default();
        if address as u32 == u32::MAX {
            break;
        }
        let _ = match function(address) {
            Some(name) => writeln!(text, "=> {name} ({address:x})"),
            None => writeln!(text, "=> {address:x}"),
        };
    }
    text
}

fn indent(depth: u64) -> String {
    // A depth that no stack has is damage: the line stays short.
    " ".repeat(depth.min(200) as usize * INDENT)
}

/// Gives the overhead mark, the duration, and the bar before the function's name.
fn duration(fields: &GraphFields, exit: Exit, record: &[u8]) -> Option<String> {
    let ns = fields.number(record, exit.rettime)?.wrapping_sub(fields.number(record, exit.calltime)?);
    let mark = match ns {
        1_000_000_001.. => '$',
        1_000_001.. => '#',
        100_001.. => '!',
        10_001.. => '+',
        _ => ' ',
    };
    let us = (ns / 1000).to_string();
    // Seven digits of microseconds leave no room for more.
    let nanos = if us.len() < 7 { format!(".{:03}", ns % 1000) } else { String::new() };
    let number = format!("{us}{nanos}");
    Some(format!("{mark} {number} us {:pad$}|  ", "", pad = 7usize.saturating_sub(number.len())))
}
