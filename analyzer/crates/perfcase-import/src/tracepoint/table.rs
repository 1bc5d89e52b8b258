//! The table of one event. Its columns are found by name, so that formats of several kernels and files can share it.

use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, PrimitiveArray, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::columns::{ListOf, Numbers, SymbolBuilder};
use crate::model::until_nul;
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

enum Values {
    /// Integers of every width. They are narrowed when the batch is made.
    Int(Numbers<Int64Type>),
    Signed(ListOf<Int64Type>),
    Unsigned(ListOf<UInt64Type>),
    Text(SymbolBuilder),
    Bytes(BinaryBuilder),
}

impl Values {
    fn new(data_type: &DataType) -> Values {
        match data_type {
            DataType::List(item) if *item.data_type() == DataType::Int64 => Values::Signed(ListOf::default()),
            DataType::List(_) => Values::Unsigned(ListOf::default()),
            DataType::Dictionary(..) => Values::Text(SymbolBuilder::default()),
            DataType::Binary => Values::Bytes(BinaryBuilder::new()),
            _ => Values::Int(Numbers::default()),
        }
    }

    fn append_null(&mut self) {
        match self {
            Values::Int(numbers) => numbers.append_null(),
            Values::Signed(list) => list.append_null(),
            Values::Unsigned(list) => list.append_null(),
            Values::Text(text) => text.append_null(),
            Values::Bytes(bytes) => bytes.append_null(),
        }
    }

    fn finish(&mut self, data_type: &DataType) -> ArrayRef {
        match self {
            Values::Int(numbers) => {
                let (values, nulls) = numbers.take();
                narrow(values, nulls, data_type)
            }
            Values::Signed(list) => Arc::new(list.finish()),
            Values::Unsigned(list) => Arc::new(list.finish()),
            Values::Text(text) => Arc::new(text.finish()),
            Values::Bytes(bytes) => Arc::new(bytes.finish()),
        }
    }
}

fn narrow(values: Vec<i64>, nulls: Option<NullBuffer>, data_type: &DataType) -> ArrayRef {
    macro_rules! array {
        ($kind:ty, $native:ty) => {
            Arc::new(PrimitiveArray::<$kind>::new(values.into_iter().map(|v| v as $native).collect(), nulls))
        };
    }
    match data_type {
        DataType::Int8 => array!(Int8Type, i8),
        DataType::Int16 => array!(Int16Type, i16),
        DataType::Int32 => array!(Int32Type, i32),
        DataType::UInt8 => array!(UInt8Type, u8),
        DataType::UInt16 => array!(UInt16Type, u16),
        DataType::UInt32 => array!(UInt32Type, u32),
        DataType::UInt64 => array!(UInt64Type, u64),
        _ => array!(Int64Type, i64),
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

struct Column {
    name: String,
    data_type: DataType,
    values: Values,
    /// The number of rows with a value so far. It is less than the table's count when the current row has no value yet.
    rows: usize,
}

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
    rows: usize,
    schema: Option<SchemaRef>,
}

impl EventTable {
    pub(crate) fn new(name: &str, system: &str) -> EventTable {
        let (name, system) = (name.to_string(), system.to_string());
        let mut table = EventTable { name: name.clone(), system, columns: Vec::new(), rows: 0, schema: None };
        for (column, data_type, _) in &COMMON {
            table.add(column, data_type.clone());
        }
        let spec = TableSpec::find(&name).filter(|spec| spec.is_tracepoint);
        for column in spec.iter().flat_map(|spec| spec.columns.iter().skip(COMMON.len())) {
            table.add(column.name, column.data_type());
        }
        table
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
        self.rows > 0 || self.schema.is_some() || TableSpec::find(&self.name).is_some()
    }

    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    fn add(&mut self, name: &str, data_type: DataType) -> usize {
        let values = Values::new(&data_type);
        self.columns.push(Column { name: name.to_string(), data_type, values, rows: 0 });
        self.columns.len() - 1
    }

    /// Gives the column of a field, and makes it if it is new. The columns are fixed once rows were written: then a
    /// field that only a later format has gets no column (usize::MAX).
    pub(crate) fn column(&mut self, field: &str, kind: ColumnKind) -> usize {
        let is_common = COMMON.iter().any(|(name, ..)| name.eq_ignore_ascii_case(field));
        let name = if is_common { format!("field_{field}") } else { field.to_string() };
        if let Some(index) = self.columns.iter().position(|c| c.name.eq_ignore_ascii_case(&name)) {
            return index;
        }
        if self.schema.is_some() || self.columns.len() >= MOST_COLUMNS {
            return usize::MAX;
        }
        // It is NULL in the rows that already wait: `cell` and `take` fill them.
        self.add(&name, kind.data_type())
    }

    #[inline]
    pub(crate) fn begin_row(&mut self, ts: i64, cpu: Option<u32>, utid: Option<u32>, source: u16, stack: Option<u32>) {
        self.rows += 1;
        self.int(0, ts);
        for (column, value) in [(1, cpu), (2, utid), (4, stack)] {
            if let Some(value) = value {
                self.int(column, i64::from(value));
            }
        }
        self.int(3, i64::from(source));
    }

    /// Ends the row. Columns that the row's format does not have are NULL.
    #[inline]
    pub(crate) fn end_row(&mut self) {
        let rows = self.rows;
        for column in self.columns.iter_mut().filter(|column| column.rows < rows) {
            column.fill(rows);
        }
    }

    #[inline]
    fn cell(&mut self, column: usize) -> Option<&mut Values> {
        let rows = self.rows;
        let column = self.columns.get_mut(column)?;
        if column.rows + 1 != rows {
            // A second value for the row (two fields with the same name) is dropped.
            if column.rows >= rows {
                return None;
            }
            column.fill(rows - 1);
        }
        column.rows = rows;
        Some(&mut column.values)
    }

    #[inline]
    pub(crate) fn int(&mut self, column: usize, value: i64) {
        match self.cell(column) {
            Some(Values::Int(numbers)) => numbers.append_value(value),
            Some(other) => other.append_null(),
            None => {}
        }
    }

    #[inline]
    pub(crate) fn text(&mut self, column: usize, bytes: &[u8]) {
        match self.cell(column) {
            Some(Values::Text(text)) => text.append_value(until_nul(bytes)),
            Some(other) => other.append_null(),
            None => {}
        }
    }

    pub(crate) fn bytes(&mut self, column: usize, value: &[u8]) {
        match self.cell(column) {
            Some(Values::Bytes(bytes)) => bytes.append_value(value),
            Some(other) => other.append_null(),
            None => {}
        }
    }

    pub(crate) fn ints(&mut self, column: usize, list: impl Iterator<Item = i64>) {
        match self.cell(column) {
            Some(Values::Signed(signed)) => signed.append_iter(list),
            Some(Values::Unsigned(unsigned)) => unsigned.append_iter(list.map(|v| v as u64)),
            Some(other) => other.append_null(),
            None => {}
        }
    }

    /// Gives the names of the columns, in order, and their SQL types.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.columns.iter().map(|column| (column.name.as_str(), sql_type(&column.data_type)))
    }

    /// Takes the waiting rows, to make a batch of them on another thread. From the first call on the columns are fixed.
    pub(crate) fn take(&mut self) -> Build {
        let schema = self.schema.get_or_insert_with(|| {
            let nullable =
                |name: &str| COMMON.iter().find(|(n, ..)| *n == name).is_none_or(|(_, _, nullable)| *nullable);
            let field = |c: &Column| Field::new(&c.name, c.data_type.clone(), nullable(&c.name));
            Arc::new(Schema::new(self.columns.iter().map(field).collect::<Vec<_>>()))
        });
        let schema = schema.clone();
        let rows = std::mem::take(&mut self.rows);
        let values = self.columns.iter_mut().map(|column| column.take(rows));
        let values: Vec<(Values, DataType)> = values.collect();
        Box::new(move || {
            let arrays = values.into_iter().map(|(mut values, data_type)| values.finish(&data_type)).collect();
            RecordBatch::try_new(schema, arrays)
        })
    }
}

impl Column {
    /// Takes the values of so many rows. The next values begin with room for as many.
    fn take(&mut self, rows: usize) -> (Values, DataType) {
        self.fill(rows);
        self.rows = 0;
        let next = match &self.values {
            Values::Int(_) => Values::Int(Numbers::with_capacity(rows)),
            _ => Values::new(&self.data_type),
        };
        (std::mem::replace(&mut self.values, next), self.data_type.clone())
    }

    fn fill(&mut self, rows: usize) {
        while self.rows < rows {
            self.values.append_null();
            self.rows += 1;
        }
    }
}
