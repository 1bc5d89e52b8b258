//! Makes a record of the kernel from printed fields, so that the session treats it like any other tracepoint.

use hashbrown::HashMap;
use perfcase_decode::format::state_bits::TODAY;
use perfcase_decode::format::{EventFormat, Field as FormatField, FieldKind, LocElem};
use perfcase_decode::perf_script::fields::{Field, Value};

use crate::session::{Session, SourceId};
use crate::tracepoint::TracepointId;

/// Texts with a fixed place in the record: names of threads, and the flags of a request. Other texts follow the record.
const FIXED_TEXT: [&str; 6] = ["comm", "prev_comm", "next_comm", "child_comm", "newcomm", "rwbs"];
const FIXED_TEXT_BYTES: usize = 32;
const TEXT_BYTES_MAX: usize = 16 << 10;
/// The most forms of events: a bound for hostile input.
const MOST_LAYOUTS: usize = 8192;

/// The known forms of records. An event has several forms if its fields differ from line to line.
#[derive(Default)]
pub struct Layouts {
    known: HashMap<String, TracepointId>,
    record: Vec<u8>,
    key: String,
}

impl Layouts {
    /// Gives the key of the form and the record's bytes; `None` above the bound.
    pub fn lay_out(
        &mut self,
        session: &mut Session,
        source: SourceId,
        (system, event): (&str, &str),
        fields: &[Field],
    ) -> Option<(TracepointId, &[u8])> {
        self.key.clear();
        self.key.push_str(system);
        self.key.push(':');
        self.key.push_str(event);
        for (name, value) in fields {
            self.key.push(match value {
                Value::Int(_) => ' ',
                Value::Ints(_) => '*',
                Value::Text(_) => '"',
            });
            self.key.push_str(name);
        }
        let id = match self.known.get(&self.key) {
            Some(&id) => id,
            None if self.known.len() >= MOST_LAYOUTS => return None,
            None => {
                let id = session.tracepoint_def(&format(system, event, fields), false, source);
                self.known.insert(self.key.clone(), id);
                id
            }
        };
        self.record.clear();
        self.record.resize(fields.iter().map(size).sum(), 0);
        let mut at = 0;
        for field in fields {
            at = self.write(at, field);
        }
        Some((id, &self.record))
    }

    fn write(&mut self, at: usize, field: &Field) -> usize {
        let end = at + size(field);
        match &field.1 {
            Value::Int(value) => self.record[at..end].copy_from_slice(&value.to_le_bytes()),
            Value::Ints(values) => {
                for (cell, value) in self.record[at..end].chunks_exact_mut(8).zip(values) {
                    cell.copy_from_slice(&value.to_le_bytes());
                }
            }
            Value::Text(text) if is_fixed(&field.0) => {
                let text = &text.as_bytes()[..text.len().min(FIXED_TEXT_BYTES - 1)];
                self.record[at..at + text.len()].copy_from_slice(text);
            }
            Value::Text(text) => {
                let text = &text.as_bytes()[..text.len().min(TEXT_BYTES_MAX)];
                // A place has 16 bits: texts that do not fit are left out.
                let start = self.record.len();
                let text = if start + text.len() < usize::from(u16::MAX) { text } else { b"" };
                let start = start.min(usize::from(u16::MAX));
                let word = (text.len() as u32) << 16 | start as u32;
                self.record[at..end].copy_from_slice(&word.to_le_bytes());
                self.record.extend_from_slice(text);
            }
        }
        end
    }
}

fn is_fixed(name: &str) -> bool {
    FIXED_TEXT.contains(&name)
}

fn size((name, value): &Field) -> usize {
    match value {
        Value::Int(_) => 8,
        Value::Ints(values) => 8 * values.len(),
        Value::Text(_) if is_fixed(name) => FIXED_TEXT_BYTES,
        Value::Text(_) => 4,
    }
}

fn format(system: &str, event: &str, fields: &[Field]) -> EventFormat {
    let mut offset = 0;
    let layout = fields.iter().map(|field| {
        let (name, value) = field;
        let kind = match value {
            Value::Int(_) => FieldKind::Int,
            Value::Ints(values) => FieldKind::IntArray { elem_size: 8, count: values.len() as u32 },
            Value::Text(_) if is_fixed(name) => FieldKind::CharArray,
            Value::Text(_) => FieldKind::DataLoc { elem: LocElem::Char },
        };
        let size = size(field) as u32;
        let laid = FormatField {
            name: name.clone(),
            c_type: String::new(),
            offset,
            size,
            is_signed: true,
            is_common: false,
            kind,
        };
        offset += size;
        laid
    });
    let fields = layout.collect();
    // The letters of a state are bits of 4.14 already.
    let print_fmt = if event == "sched_switch" { TODAY.to_string() } else { String::new() };
    EventFormat { system: system.to_string(), name: event.to_string(), id: 0, fields, print_fmt }
}
