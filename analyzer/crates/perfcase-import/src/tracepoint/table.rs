//! The table of one event. Its columns are found by name, so that formats of several kernels and files can share it.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use perfcase_decode::format::EventFormat;
use perfcase_decode::format::state_bits::OldBits;

use super::plan::Plan;
use super::rows::{Head, Rows};
use crate::tables::TableSpec;
use crate::writer::Build;

/// The most columns of one event that are kept: a bound for hostile formats.
const MOST_COLUMNS: usize = 512;

/// What a field of a format becomes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ColumnKind {
    Int { size: u8, is_signed: bool },
    Ints { is_signed: bool },
    Text,
    Bytes,
}

impl ColumnKind {
    fn data_type(self) -> DataType {
        match self {
            ColumnKind::Int { size: 1, is_signed: true } => DataType::Int8,
            ColumnKind::Int { size: 2, is_signed: true } => DataType::Int16,
            ColumnKind::Int { size: 4, is_signed: true } => DataType::Int32,
            ColumnKind::Int { is_signed: true, .. } => DataType::Int64,
            ColumnKind::Int { size: 1, .. } => DataType::UInt8,
            ColumnKind::Int { size: 2, .. } => DataType::UInt16,
            ColumnKind::Int { size: 4, .. } => DataType::UInt32,
            ColumnKind::Int { .. } => DataType::UInt64,
            ColumnKind::Ints { is_signed: true } => crate::tables::list_of(DataType::Int64),
            ColumnKind::Ints { .. } => crate::tables::list_of(DataType::UInt64),
            ColumnKind::Text => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            ColumnKind::Bytes => DataType::Binary,
        }
    }
}

fn sql_type(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Int8 => "TINYINT",
        DataType::Int16 => "SMALLINT",
        DataType::Int32 => "INTEGER",
        DataType::Int64 => "BIGINT",
        DataType::UInt8 => "UTINYINT",
        DataType::UInt16 => "USMALLINT",
        DataType::UInt32 => "UINTEGER",
        DataType::UInt64 => "UBIGINT",
        DataType::List(item) if *item.data_type() == DataType::Int64 => "BIGINT[]",
        DataType::List(_) => "UBIGINT[]",
        DataType::Binary => "BLOB",
        _ => "VARCHAR",
    }
}

/// A column: its name and its type.
type Column = (String, DataType);

/// The columns with which the table of every event begins.
const COMMON: [(&str, DataType, bool); 5] = [
    ("ts_ns", DataType::Int64, false),
    ("cpu", DataType::UInt32, true),
    ("utid", DataType::UInt32, true),
    ("source_id", DataType::UInt16, false),
    ("stack_id", DataType::UInt32, true),
];

pub(crate) struct EventTable {
    name: String,
    system: String,
    columns: Vec<Column>,
    /// How to read the payloads of each format.
    plans: Vec<Arc<Plan>>,
    rows: Rows,
    schema: Option<SchemaRef>,
}

impl EventTable {
    pub(crate) fn new(name: &str, system: &str) -> EventTable {
        let common = COMMON.iter().map(|(column, data_type, _)| (column.to_string(), data_type.clone()));
        let spec = TableSpec::find(name).filter(|spec| spec.is_tracepoint);
        let specified = spec.iter().flat_map(|spec| spec.columns.iter().skip(COMMON.len()));
        let specified = specified.map(|column| (column.name.to_string(), column.data_type()));
        EventTable {
            name: name.to_string(),
            system: system.to_string(),
            columns: common.chain(specified).collect(),
            plans: Vec::new(),
            rows: Rows::default(),
            schema: None,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Tells whether this is the table of an event of this system, or one that no event has used yet.
    pub(crate) fn is_of(&self, system: &str) -> bool {
        self.system.is_empty() || self.system == system
    }

    /// Gives false for an event that the schema does not describe and that did not occur: it has no table.
    pub(crate) fn is_wanted(&self) -> bool {
        self.len() > 0 || self.schema.is_some() || TableSpec::find(&self.name).is_some()
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Gives the size of the waiting rows' payloads in bytes.
    pub(crate) fn payload_bytes(&self) -> usize {
        self.rows.payload_bytes()
    }

    /// Adds a format. Gives the number of its plan.
    pub(crate) fn add_format(&mut self, format: &EventFormat, is_big_endian: bool, old_bits: Option<OldBits>) -> u32 {
        let plan = Plan::compile(format, is_big_endian, old_bits, self);
        self.plans.push(Arc::new(plan));
        self.plans.len() as u32 - 1
    }

    /// Gives the column of a field, and makes it if it is new. The columns are fixed once rows were written: then a
    /// field that only a later format has gets no column.
    pub(super) fn column(&mut self, field: &str, kind: ColumnKind) -> Option<usize> {
        let is_common = COMMON.iter().any(|(name, ..)| name.eq_ignore_ascii_case(field));
        let name = if is_common { format!("field_{field}") } else { field.to_string() };
        let known = self.columns.iter().position(|(column, _)| column.eq_ignore_ascii_case(&name));
        if known.is_none() && (self.schema.is_some() || self.columns.len() >= MOST_COLUMNS) {
            return None;
        }
        Some(known.unwrap_or_else(|| {
            self.columns.push((name, kind.data_type()));
            self.columns.len() - 1
        }))
    }

    /// Adds a row. Gives false when its payload is too short for a field.
    #[inline]
    pub(crate) fn push(&mut self, head: Head, payload: &[u8]) -> bool {
        let is_whole = self.plans.get(head.plan as usize).is_some_and(|plan| plan.is_whole(payload));
        self.rows.push(head, payload);
        is_whole
    }

    /// Gives the names of the columns, in order, and their SQL types.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.columns.iter().map(|(name, data_type)| (name.as_str(), sql_type(data_type)))
    }

    /// Takes the waiting rows, to make a batch of them on another thread. From the first call on the columns are fixed.
    pub(crate) fn take(&mut self) -> Build {
        let schema = self.schema.get_or_insert_with(|| {
            let nullable =
                |name: &str| COMMON.iter().find(|(n, ..)| *n == name).is_none_or(|(_, _, nullable)| *nullable);
            let field = |(name, data_type): &Column| Field::new(name, data_type.clone(), nullable(name));
            Arc::new(Schema::new(self.columns.iter().map(field).collect::<Vec<_>>()))
        });
        let (schema, plans, rows) = (schema.clone(), self.plans.clone(), self.rows.take());
        Box::new(move || {
            let fields = schema.fields().iter().enumerate();
            let arrays = fields.map(|(column, field)| rows.array(&plans, column, field.data_type())).collect();
            RecordBatch::try_new(schema, arrays)
        })
    }
}
