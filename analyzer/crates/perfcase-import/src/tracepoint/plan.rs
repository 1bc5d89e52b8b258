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

    /// Reads the values of all payloads, which are numbers of `N` bytes in this byte order; `None` if they are others, or if a payload
    /// is too short.
    pub(crate) fn read_all<'a, const N: usize, T>(
        self,
        payloads: impl ExactSizeIterator<Item = &'a [u8]>,
        of: impl Fn([u8; N]) -> T,
    ) -> Option<Vec<T>> {
        if self.is_big_endian || usize::from(self.size) != N {
            return None;
        }
        let mut values = Vec::with_capacity(payloads.len());
        for payload in payloads {
            values.push(of(*payload.get(self.offset..)?.first_chunk()?));
        }
        Some(values)
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

/// What the bytes of a field are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Text,
    Ints { size: usize, is_signed: bool, is_big_endian: bool },
    Bytes,
}

/// How to read a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Read {
    Int(IntField),
    /// The state of a thread that leaves its CPU, in the bits of a kernel before 4.14.
    OldState(IntField, OldBits),
    /// Bytes at a fixed place. A field of size 0 is a flexible array, which reaches to the end of the record.
    At {
        offset: usize,
        size: usize,
        kind: Kind,
    },
    /// Bytes at a place that a 32-bit word gives: offset in the low half, length in the high half.
    Located {
        word: IntField,
        is_relative: bool,
        kind: Kind,
    },
}

impl Read {
    /// Reads an integer; `None` where the payload is too short, or the field is none.
    #[inline]
    pub(super) fn int(&self, payload: &[u8]) -> Option<i64> {
        match self {
            Read::Int(field) => field.read(payload),
            Read::OldState(field, bits) => Some(bits.today(field.read(payload)?)),
            _ => None,
        }
    }

    /// Reads a text with what follows its end.
    #[inline]
    pub(super) fn text<'a>(&self, payload: &'a [u8]) -> Option<&'a [u8]> {
        self.data(payload, |kind| matches!(kind, Kind::Text))
    }

    /// Reads bytes.
    pub(super) fn bytes<'a>(&self, payload: &'a [u8]) -> Option<&'a [u8]> {
        self.data(payload, |kind| matches!(kind, Kind::Bytes))
    }

    /// Reads an array of integers.
    pub(super) fn ints<'a>(&self, payload: &'a [u8]) -> Option<impl Iterator<Item = i64> + use<'a>> {
        let (Read::At { kind, .. } | Read::Located { kind, .. }) = *self else { return None };
        let Kind::Ints { size, is_signed, is_big_endian } = kind else { return None };
        let elements = self.data(payload, |_| true)?.chunks_exact(size).take(MOST_ELEMENTS);
        Some(elements.map(move |bytes| integer(bytes, is_signed, is_big_endian)))
    }

    #[inline]
    fn data<'a>(&self, payload: &'a [u8], is_wanted: impl Fn(Kind) -> bool) -> Option<&'a [u8]> {
        match *self {
            Read::At { offset, size: 0, kind } if is_wanted(kind) => payload.get(offset..),
            Read::At { offset, size, kind } if is_wanted(kind) => payload.get(offset..offset + size),
            Read::Located { word, is_relative, kind } if is_wanted(kind) => {
                let place = word.read(payload)? as u64;
                let base = if is_relative { word.offset + 4 } else { 0 };
                let (start, length) = (base + (place & 0xffff) as usize, (place >> 16) as usize);
                payload.get(start..start + length)
            }
            _ => None,
        }
    }

    /// Gives the bytes that a payload has at least if it has this field, except data that a word locates.
    fn end(&self) -> usize {
        match *self {
            Read::Int(field) | Read::OldState(field, _) | Read::Located { word: field, .. } => {
                field.offset + usize::from(field.size)
            }
            Read::At { offset, size, .. } => offset + size,
        }
    }
}

/// How to read the columns of a table from the payloads of one format.
#[derive(Default)]
pub(crate) struct Plan {
    /// By column; `None` for a column that the format does not have.
    reads: Vec<Option<Read>>,
    /// A payload that has all fields is at least so long, and has the data of all of these.
    least_bytes: usize,
    located: Vec<Read>,
}

impl Plan {
    /// Finds or makes a column of the table for each field except the common ones. `old_bits` is for sched_switch.
    pub(super) fn compile(
        format: &EventFormat,
        is_big_endian: bool,
        old_bits: Option<OldBits>,
        table: &mut EventTable,
    ) -> Plan {
        let mut plan = Plan::default();
        for field in format.fields.iter().filter(|field| !field.is_common) {
            let (read, kind) = step(field, is_big_endian);
            let read = match (read, old_bits) {
                (Read::Int(state), Some(bits)) if field.name == "prev_state" => Read::OldState(state, bits),
                (read, _) => read,
            };
            plan.least_bytes = plan.least_bytes.max(read.end());
            plan.located.extend(matches!(read, Read::Located { .. }).then_some(read));
            let Some(column) = table.column(&field.name, kind) else { continue };
            if plan.reads.len() <= column {
                plan.reads.resize(column + 1, None);
            }
            // A second field of the same name is dropped.
            plan.reads[column].get_or_insert(read);
        }
        plan
    }

    /// Tells how to read a column.
    #[inline]
    pub(super) fn read(&self, column: usize) -> Option<&Read> {
        self.reads.get(column)?.as_ref()
    }

    /// Tells whether the payload has every field.
    #[inline]
    pub(super) fn is_whole(&self, payload: &[u8]) -> bool {
        payload.len() >= self.least_bytes && self.located.iter().all(|read| read.data(payload, |_| true).is_some())
    }
}

fn step(field: &Field, is_big_endian: bool) -> (Read, ColumnKind) {
    let (offset, size) = (field.offset as usize, field.size as usize);
    let is_signed = field.is_signed;
    let ints = |size: u32| Kind::Ints { size: size as usize, is_signed, is_big_endian };
    let located = |is_relative: bool, element: &LocElem| {
        let (kind, column) = match element {
            LocElem::Char => (Kind::Text, ColumnKind::Text),
            LocElem::Int { size } if matches!(size, 1 | 2 | 4 | 8) => (ints(*size), ColumnKind::Ints { is_signed }),
            _ => (Kind::Bytes, ColumnKind::Bytes),
        };
        let word = IntField { offset, size: 4, is_signed: false, is_big_endian };
        (Read::Located { word, is_relative, kind }, column)
    };
    match &field.kind {
        FieldKind::Int if matches!(size, 1 | 2 | 4 | 8) => {
            (Read::Int(IntField::new(field, is_big_endian)), ColumnKind::Int { size: size as u8, is_signed })
        }
        FieldKind::CharArray => (Read::At { offset, size, kind: Kind::Text }, ColumnKind::Text),
        FieldKind::IntArray { elem_size, .. } if matches!(elem_size, 1 | 2 | 4 | 8) => {
            (Read::At { offset, size, kind: ints(*elem_size) }, ColumnKind::Ints { is_signed })
        }
        FieldKind::DataLoc { elem } => located(false, elem),
        FieldKind::RelLoc { elem } => located(true, elem),
        _ => (Read::At { offset, size, kind: Kind::Bytes }, ColumnKind::Bytes),
    }
}
