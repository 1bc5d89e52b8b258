//! Where an event of a tracepoint has texts, addresses and pointers.

use perfcase_decode::format::{EventFormat, Field, FieldKind, LocElem};
use perfcase_decode::perf_data::bytes::ByteOrder;

use crate::visit::Visitor;

#[derive(Debug, Clone, Copy)]
enum What {
    Text(usize),
    Bytes(usize),
    Address,
    Words,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Fixed(usize, usize),
    /// To the end of the record.
    Rest(usize),
    /// A place in 32 bits at the first number; its offset counts from the second.
    Located(usize, usize),
}

/// The places of one event's fields.
#[derive(Debug)]
pub struct Layout {
    order: ByteOrder,
    fields: Vec<(What, Place)>,
}

impl Layout {
    /// Finds the places by a format.
    pub fn new(format: &EventFormat, order: ByteOrder, visitor: &mut Visitor) -> Layout {
        let fields = format.fields.iter().filter(|field| !field.is_common);
        let fields = fields.filter_map(|field| Some((what(format, field, visitor)?, place(field)))).collect();
        Layout { order, fields }
    }

    /// Visits the fields of a record.
    pub fn visit(&self, record: &mut [u8], visitor: &mut Visitor) {
        for &(what, place) in &self.fields {
            let Some(range) = self.range(record, place) else { continue };
            let bytes = &mut record[range];
            match what {
                What::Text(number) => visitor.text(number, bytes),
                What::Bytes(number) => visitor.bytes(number, bytes),
                What::Address => visitor.address(bytes),
                What::Words => visitor.words(bytes, self.order),
            }
        }
    }

    fn range(&self, record: &[u8], place: Place) -> Option<std::ops::Range<usize>> {
        let (start, length) = match place {
            Place::Fixed(at, size) => (at, size),
            Place::Rest(at) => (at, record.len().checked_sub(at)?),
            Place::Located(at, base) => {
                let word = self.order.u32(record, at)? as usize;
                (base.checked_add(word & 0xffff)?, word >> 16)
            }
        };
        let end = start.checked_add(length)?;
        (end <= record.len()).then_some(start..end)
    }
}

fn place(field: &Field) -> Place {
    let (at, size) = (field.offset as usize, field.size as usize);
    match field.kind {
        FieldKind::DataLoc { .. } => Place::Located(at, 0),
        FieldKind::RelLoc { .. } => Place::Located(at, at + size),
        _ if size == 0 => Place::Rest(at),
        _ => Place::Fixed(at, size),
    }
}

fn what(format: &EventFormat, field: &Field, visitor: &mut Visitor) -> Option<What> {
    let mut number = || visitor.number(&format.name, &field.name);
    // Arguments of system calls too: what a program does not pass is what the kernel's registers held.
    let is_pointer = !field.is_signed;
    Some(match field.kind {
        FieldKind::CharArray
        | FieldKind::DataLoc { elem: LocElem::Char }
        | FieldKind::RelLoc { elem: LocElem::Char } => What::Text(number()),
        FieldKind::Bytes if matches!(field.size, 4 | 6 | 16 | 28) && is_address(&field.name) => What::Address,
        FieldKind::Bytes | FieldKind::DataLoc { elem: LocElem::Bytes } | FieldKind::RelLoc { elem: LocElem::Bytes } => {
            What::Bytes(number())
        }
        FieldKind::Int if field.size == 8 && is_pointer => What::Words,
        FieldKind::IntArray { elem_size: 8, .. } if is_pointer => What::Words,
        FieldKind::DataLoc { elem: LocElem::Int { size: 8 } }
        | FieldKind::RelLoc { elem: LocElem::Int { size: 8 } }
            if is_pointer =>
        {
            What::Words
        }
        // What the kernel's trace_printk packed, texts too.
        FieldKind::IntArray { elem_size: 4, count: 0 } if format.system == "ftrace" => What::Bytes(number()),
        _ => return None,
    })
}

fn is_address(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["addr", "mac", "bssid"].iter().any(|part| name.contains(part)) || name == "da" || name == "sa"
}
