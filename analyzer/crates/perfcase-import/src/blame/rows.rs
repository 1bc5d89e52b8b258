//! Rows of the tables that were just written.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type};
use arrow_array::{Array as _, BooleanArray, DictionaryArray, ListArray, PrimitiveArray, RecordBatch, StringArray};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use crate::writer::WriteError;

const BATCH_ROWS: usize = 32_768;

/// A table of which some columns are read.
pub(super) struct Rows {
    path: PathBuf,
    reader: ParquetRecordBatchReader,
    pub(super) row_count: u64,
}

impl Rows {
    /// Opens a table; `None` if it has no rows.
    pub(super) fn open(folder: &Path, table: &str, columns: &[&str]) -> Result<Option<Rows>, WriteError> {
        let path = folder.join(format!("{table}.parquet"));
        let failed = |message: String| WriteError::Back { path: path.clone(), message };
        let file = match File::open(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(|error| failed(error.to_string()))?,
        };
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| failed(error.to_string()))?;
        let row_count = builder.metadata().file_metadata().num_rows().max(0) as u64;
        let schema = builder.parquet_schema();
        let mask = ProjectionMask::columns(schema, columns.iter().copied());
        let reader = builder.with_projection(mask).with_batch_size(BATCH_ROWS).build();
        let reader = reader.map_err(|error| failed(error.to_string()))?;
        Ok((row_count > 0).then_some(Rows { path, reader, row_count }))
    }

    pub(super) fn next(&mut self) -> Result<Option<Batch>, WriteError> {
        let failed = |message: String| WriteError::Back { path: self.path.clone(), message };
        self.reader.next().transpose().map(|batch| batch.map(Batch)).map_err(|error| failed(error.to_string()))
    }
}

/// Some rows. The names and types of columns are those that this program wrote just before.
pub(super) struct Batch(pub(super) RecordBatch);

impl Batch {
    pub(super) fn i64s(&self, name: &str) -> Option<&PrimitiveArray<Int64Type>> {
        self.0.column_by_name(name)?.as_primitive_opt()
    }

    pub(super) fn u32s(&self, name: &str) -> Option<&PrimitiveArray<UInt32Type>> {
        self.0.column_by_name(name)?.as_primitive_opt()
    }

    pub(super) fn i32s(&self, name: &str) -> Option<&PrimitiveArray<Int32Type>> {
        self.0.column_by_name(name)?.as_primitive_opt()
    }

    pub(super) fn bools(&self, name: &str) -> Option<&BooleanArray> {
        self.0.column_by_name(name)?.as_boolean_opt()
    }

    pub(super) fn texts(&self, name: &str) -> Option<&StringArray> {
        self.0.column_by_name(name)?.as_string_opt()
    }

    pub(super) fn lists(&self, name: &str) -> Option<&ListArray> {
        self.0.column_by_name(name)?.as_list_opt()
    }

    pub(super) fn symbols(&self, name: &str) -> Option<&DictionaryArray<Int32Type>> {
        self.0.column_by_name(name)?.as_dictionary_opt()
    }
}

pub(super) fn at<T: arrow_array::ArrowPrimitiveType>(column: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    column.is_valid(row).then(|| column.value(row))
}

/// Gives what each value of a column of symbols means.
pub(super) fn meanings<T>(column: &DictionaryArray<Int32Type>, of: impl Fn(&str) -> T) -> Vec<T> {
    let values: Option<&StringArray> = column.values().as_string_opt();
    values.into_iter().flat_map(|values| values.iter()).map(|value| of(value.unwrap_or(""))).collect()
}

/// Gives the meaning of a row's symbol; `None` for NULL.
pub(super) fn meaning<T: Copy>(column: &DictionaryArray<Int32Type>, meanings: &[T], row: usize) -> Option<T> {
    at(column.keys(), row).and_then(|key| meanings.get(key as usize).copied())
}

/// Reads a table that may be absent.
pub(super) fn each(
    folder: &Path,
    table: &str,
    columns: &[&str],
    mut look: impl FnMut(&Batch),
) -> Result<(), WriteError> {
    let Some(mut rows) = Rows::open(folder, table, columns)? else { return Ok(()) };
    while let Some(batch) = rows.next()? {
        look(&batch);
    }
    Ok(())
}
