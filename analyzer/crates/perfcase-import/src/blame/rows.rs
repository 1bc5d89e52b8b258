//! Rows of the tables that were just written.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type};
use arrow_array::{Array as _, BooleanArray, DictionaryArray, ListArray, PrimitiveArray, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;

use crate::writer::WriteError;

const BATCH_ROWS: usize = 32_768;
/// Symbols that most rows lack: where none has one, the reader would make a dictionary of nothing, row by row.
const RARE: [&str; 1] = ["cut_at"];

/// A table of which some columns are read.
pub(super) struct Rows {
    path: PathBuf,
    batches: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>,
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
        let found = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).and_then(without_dictionaries);
        let found = found.map_err(|error| failed(error.to_string()))?;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, found);
        let row_count = builder.metadata().file_metadata().num_rows().max(0) as u64;
        let schema = builder.parquet_schema();
        let mask = ProjectionMask::columns(schema, columns.iter().copied());
        let reader = builder.with_projection(mask).with_batch_size(BATCH_ROWS).build();
        let reader = reader.map_err(|error| failed(error.to_string()))?;
        let batches: Box<dyn Iterator<Item = _>> = if row_count > BATCH_ROWS as u64 {
            Box::new(Ahead::start(reader).map_err(|error| failed(error.to_string()))?)
        } else {
            Box::new(reader)
        };
        Ok((row_count > 0).then_some(Rows { path, batches, row_count }))
    }

    pub(super) fn next(&mut self) -> Result<Option<Batch>, WriteError> {
        let failed = |message: String| WriteError::Back { path: self.path.clone(), message };
        self.batches.next().transpose().map(|batch| batch.map(Batch)).map_err(|error| failed(error.to_string()))
    }
}

/// Has the columns of [`RARE`] read without a dictionary.
fn without_dictionaries(found: ArrowReaderMetadata) -> Result<ArrowReaderMetadata, ParquetError> {
    let fields = found.schema().fields().iter().map(|field| match RARE.contains(&field.name().as_str()) {
        true => Arc::new(Field::clone(field).with_data_type(DataType::Utf8)),
        false => field.clone(),
    });
    let schema = Schema::new_with_metadata(fields.collect::<Vec<_>>(), found.schema().metadata().clone());
    ArrowReaderMetadata::try_new(found.metadata().clone(), ArrowReaderOptions::new().with_schema(Arc::new(schema)))
}

/// Batches that a thread of its own reads: the next one while the last one is used. It ends when nobody wants more of them.
struct Ahead {
    receiver: Receiver<Result<RecordBatch, ArrowError>>,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    fn start(reader: ParquetRecordBatchReader) -> std::io::Result<Ahead> {
        let (sender, receiver) = sync_channel(0);
        let read = move || drop(reader.map(|batch| sender.send(batch)).find(Result::is_err));
        let thread = std::thread::Builder::new().name("blame".into()).spawn(read)?;
        Ok(Ahead { receiver, thread: Some(thread) })
    }
}

impl Iterator for Ahead {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.receiver.recv().ok().or_else(|| {
            // A thread that panicked has not read all.
            let has_panicked = self.thread.take()?.join().is_err();
            has_panicked.then(|| Err(ArrowError::ParquetError("its reader stopped early".into())))
        })
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
