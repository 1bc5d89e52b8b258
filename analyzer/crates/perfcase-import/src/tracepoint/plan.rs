//! How to read the fields of one event. It is compiled once from the event's format, and runs for every record.

use perfcase_decode::format::state_bits::OldBits;
use perfcase_decode::format::{EventFormat, Field, FieldKind, LocElem};

use super::table::{ColumnKind, EventTable};

/// The most elements of one array that are kept: a bound, because dynamic arrays give their own length.
const MOST_ELEMENTS: usize = 4096;

/// An integer at a fixed place in the payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IntField {
    offset: usize,
    size: u8,
    is_signed: bool,
    is_big_endian: bool,
}

impl IntField {
    /// Finds the field of that name; `None` if it is missing or not an integer.
    pub(crate) fn find(format: &EventFormat, name: &str, is_big_endian: bool) -> Option<IntField> {
        let field = format.fields.iter().find(|field| field.name == name)?;
        matches!(field.kind, FieldKind::Int).then(|| IntField::new(field, is_big_endian))
    }

    fn new(field: &Field, is_big_endian: bool) -> IntField {
        let (offset, size) = (field.offset as usize, field.size.min(255) as u8);
        IntField { offset, size, is_signed: field.is_signed, is_big_endian }
    }

    /// Reads the value; `None` where the payload is too short. Unsigned 64-bit values keep their bits.
    #[inline]
    pub(crate) fn read(self, payload: &[u8]) -> Option<i64> {
        let bytes = payload.get(self.offset..self.offset + self.size as usize)?;
        Some(integer(bytes, self.is_signed, self.is_big_endian))
    }
}

/// Reads an integer of 1, 2, 4 or 8 bytes. If it has another size, reads the low bytes.
#[inline]
pub(crate) fn integer(bytes: &[u8], is_signed: bool, is_big_endian: bool) -> i64 {
    macro_rules! read {
        ($signed:ty, $unsigned:ty, $bytes:expr) => {{
            let raw =
                if is_big_endian { <$unsigned>::from_be_bytes($bytes) } else { <$unsigned>::from_le_bytes($bytes) };
            if is_signed { raw as $signed as i64 } else { raw as i64 }
        }};
    }
    match *bytes {
        [a] => read!(i8, u8, [a]),
        [a, b] => read!(i16, u16, [a, b]),
        [a, b, c, d] => read!(i32, u32, [a, b, c, d]),
        [a, b, c, d, e, f, g, h] => read!(i64, u64, [a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

#[derive(Clone, Copy, Debug)]
enum Read {
    Int(IntField),
    /// The state of a thread that leaves its CPU, in the bits of a kernel before 4.14.
    OldState(IntField),
    Text {
        offset: usize,
        size: usize,
    },
    Ints {
        offset: usize,
        size: usize,
        element: usize,
        is_signed: bool,
    },
    Bytes {
        offset: usize,
        size: usize,
    },
    /// A 32-bit word with the place of the data: offset in the low half, length in the high half.
    Located {
        offset: usize,
        is_relative: bool,
        as_what: Located,
        is_signed: bool,
    },
}

#[derive(Clone, Copy, Debug)]
enum Located {
    Text,
    Ints(usize),
    Bytes,
}

pub(crate) struct Plan {
    steps: Vec<(usize, Read)>,
    is_big_endian: bool,
    old_bits: Option<OldBits>,
}

impl Plan {
    /// Finds or makes a column of the table for each field except the common ones. `old_bits` is for sched_switch.
    pub(crate) fn compile(
        format: &EventFormat,
        is_big_endian: bool,
        old_bits: Option<OldBits>,
        table: &mut EventTable,
    ) -> Plan {
        let mut steps = Vec::new();
        for field in format.fields.iter().filter(|field| !field.is_common) {
            let (read, kind) = match step(field, is_big_endian) {
                (Read::Int(state), kind) if old_bits.is_some() && field.name == "prev_state" => {
                    (Read::OldState(state), kind)
                }
                other => other,
            };
            steps.push((table.column(&field.name, kind), read));
        }
        Plan { steps, is_big_endian, old_bits }
    }

    /// Reads every field into the table's current row. Gives false when the payload was too short for one.
    #[inline]
    pub(crate) fn read(&self, payload: &[u8], table: &mut EventTable) -> bool {
        let mut is_whole = true;
        for &(column, read) in &self.steps {
            is_whole &= self.read_one(payload, table, column, read).is_some();
        }
        table.end_row();
        is_whole
    }

    #[inline]
    fn read_one(&self, payload: &[u8], table: &mut EventTable, column: usize, read: Read) -> Option<()> {
        match read {
            Read::Int(field) => table.int(column, field.read(payload)?),
            Read::OldState(field) => {
                let bits = field.read(payload)?;
                table.int(column, self.old_bits.map_or(bits, |old| old.today(bits)));
            }
            Read::Text { offset, size } => table.text(column, part(payload, offset, size)?),
            Read::Bytes { offset, size } => table.bytes(column, part(payload, offset, size)?),
            Read::Ints { offset, size, element, is_signed } => {
                self.ints(part(payload, offset, size)?, table, column, element, is_signed);
            }
            Read::Located { offset, is_relative, as_what, is_signed } => {
                let word = integer(payload.get(offset..offset + 4)?, false, self.is_big_endian) as u64;
                let base = if is_relative { offset + 4 } else { 0 };
                let (start, length) = (base + (word & 0xffff) as usize, (word >> 16) as usize);
                let data = payload.get(start..start + length)?;
                match as_what {
                    Located::Text => table.text(column, data),
                    Located::Bytes => table.bytes(column, data),
                    Located::Ints(element) => self.ints(data, table, column, element, is_signed),
                }
            }
        }
        Some(())
    }

    fn ints(&self, data: &[u8], table: &mut EventTable, column: usize, element: usize, is_signed: bool) {
        let elements = data.chunks_exact(element).take(MOST_ELEMENTS);
        table.ints(column, elements.map(|bytes| integer(bytes, is_signed, self.is_big_endian)));
    }
}

/// Gives the bytes of a field. A field of size 0 is a flexible array, which reaches to the end of the record.
#[inline]
fn part(payload: &[u8], offset: usize, size: usize) -> Option<&[u8]> {
    if size == 0 { payload.get(offset..) } else { payload.get(offset..offset + size) }
}

fn step(field: &Field, is_big_endian: bool) -> (Read, ColumnKind) {
    let (offset, size) = (field.offset as usize, field.size as usize);
    let is_signed = field.is_signed;
    let located = |is_relative: bool, element: &LocElem| {
        let (as_what, kind) = match element {
            LocElem::Char => (Located::Text, ColumnKind::Text),
            LocElem::Int { size } if matches!(size, 1 | 2 | 4 | 8) => {
                (Located::Ints(*size as usize), ColumnKind::Ints { is_signed })
            }
            _ => (Located::Bytes, ColumnKind::Bytes),
        };
        (Read::Located { offset, is_relative, as_what, is_signed }, kind)
    };
    match &field.kind {
        FieldKind::Int if matches!(size, 1 | 2 | 4 | 8) => {
            (Read::Int(IntField::new(field, is_big_endian)), ColumnKind::Int { size: size as u8, is_signed })
        }
        FieldKind::CharArray => (Read::Text { offset, size }, ColumnKind::Text),
        FieldKind::IntArray { elem_size, .. } if matches!(elem_size, 1 | 2 | 4 | 8) => {
            let element = *elem_size as usize;
            (Read::Ints { offset, size, element, is_signed }, ColumnKind::Ints { is_signed })
        }
        FieldKind::DataLoc { elem } => located(false, elem),
        FieldKind::RelLoc { elem } => located(true, elem),
        _ => (Read::Bytes { offset, size }, ColumnKind::Bytes),
    }
}
