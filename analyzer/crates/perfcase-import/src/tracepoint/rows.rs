//! Rows of an event that wait to be written. They are records as they came: the writer's thread reads their columns.

use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_schema::DataType;

use super::plan::{Plan, Read};
use crate::columns::{ListOf, Numbers, SymbolBuilder, take_rows};
use crate::model::until_nul;

/// What every row has besides its payload.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    pub(crate) ts_ns: i64,
    pub(crate) cpu: Option<u32>,
    pub(crate) utid: Option<u32>,
    pub(crate) stack: Option<u32>,
    pub(crate) source: u16,
    /// The number of the plan that reads the payload.
    pub(crate) plan: u32,
}

/// Rows, one after the other.
#[derive(Default)]
pub(super) struct Rows {
    /// Each with the end of its payload.
    heads: Vec<(Head, usize)>,
    payloads: Vec<u8>,
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        self.heads.len()
    }

    pub(super) fn payload_bytes(&self) -> usize {
        self.payloads.len()
    }

    #[inline]
    pub(super) fn push(&mut self, head: Head, payload: &[u8]) {
        self.payloads.extend_from_slice(payload);
        self.heads.push((head, self.payloads.len()));
    }

    /// Takes the rows. The next rows begin with room for as many.
    pub(super) fn take(&mut self) -> Rows {
        Rows { heads: take_rows(&mut self.heads), payloads: take_rows(&mut self.payloads) }
    }

    fn payloads(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let mut start = 0;
        self.heads.iter().map(move |&(_, end)| &self.payloads[std::mem::replace(&mut start, end)..end])
    }

    /// Reads a column. Rows whose format does not have it, or whose payload is too short for it, have NULL.
    pub(super) fn array(&self, plans: &[Arc<Plan>], column: usize, data_type: &DataType) -> ArrayRef {
        macro_rules! numbers {
            ($kind:ty, $values:expr) => {{
                let mut numbers = Numbers::<$kind>::with_capacity(self.len());
                $values.for_each(|value| numbers.append_option(value));
                Arc::new(numbers.finish())
            }};
        }
        let heads = || self.heads.iter().map(|(head, _)| head);
        match column {
            0 => return numbers!(Int64Type, heads().map(|head| Some(head.ts_ns))),
            1 => return numbers!(UInt32Type, heads().map(|head| head.cpu)),
            2 => return numbers!(UInt32Type, heads().map(|head| head.utid)),
            3 => return numbers!(UInt16Type, heads().map(|head| Some(head.source))),
            4 => return numbers!(UInt32Type, heads().map(|head| head.stack)),
            _ => {}
        }
        let reads: Vec<Option<&Read>> = plans.iter().map(|plan| plan.read(column)).collect();
        let rows = self
            .heads
            .iter()
            .zip(self.payloads())
            .map(|((head, _), payload)| Some((reads.get(head.plan as usize).copied().flatten()?, payload)));
        // Nearly always all rows have one format, and the field is a number at one place.
        let field = match &reads[..] {
            [Some(Read::Int(field))] => Some(*field),
            _ => None,
        };
        macro_rules! integers {
            ($kind:ty, $native:ty) => {{
                if let Some(field) = field
                    && let Some(values) = field.read_all(self.payloads(), <$native>::from_le_bytes)
                {
                    return Arc::new(PrimitiveArray::<$kind>::new(values.into(), None));
                }
                numbers!($kind, rows.map(|row| row.and_then(|(read, payload)| read.int(payload)).map(|v| v as $native)))
            }};
        }
        match data_type {
            DataType::Int8 => integers!(Int8Type, i8),
            DataType::Int16 => integers!(Int16Type, i16),
            DataType::Int32 => integers!(Int32Type, i32),
            DataType::UInt8 => integers!(UInt8Type, u8),
            DataType::UInt16 => integers!(UInt16Type, u16),
            DataType::UInt32 => integers!(UInt32Type, u32),
            DataType::UInt64 => integers!(UInt64Type, u64),
            DataType::List(item) => {
                let lists = rows.map(|row| row.and_then(|(read, payload)| read.ints(payload)));
                match item.data_type() {
                    DataType::Int64 => {
                        let mut list = ListOf::<Int64Type>::default();
                        lists.for_each(|values| list.append_iter_or_null(values));
                        Arc::new(list.finish())
                    }
                    _ => {
                        let mut list = ListOf::<UInt64Type>::default();
                        lists
                            .for_each(|values| list.append_iter_or_null(values.map(|values| values.map(|v| v as u64))));
                        Arc::new(list.finish())
                    }
                }
            }
            DataType::Dictionary(..) => {
                let mut text = SymbolBuilder::with_capacity(self.len());
                let texts = rows.map(|row| row.and_then(|(read, payload)| read.text(payload)));
                texts.for_each(|value| text.append_option(value.map(until_nul)));
                Arc::new(text.finish())
            }
            DataType::Binary => {
                let mut bytes = BinaryBuilder::new();
                rows.for_each(|row| bytes.append_option(row.and_then(|(read, payload)| read.bytes(payload))));
                Arc::new(bytes.finish())
            }
            _ => integers!(Int64Type, i64),
        }
    }
}
