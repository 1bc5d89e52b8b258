//! The Parquet file of a table.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, FieldRef, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use super::WriteError;

/// The most rows of a group. A query reads whole groups: those that may have rows of its window or its thread. DuckDB
/// reads groups side by side, and takes groups of about this size itself.
pub(super) const GROUP_ROWS: usize = 1 << 17;
/// The most rows of a page. The compressor of each column needs memory by the size of its pages, and dozens of columns
/// are written at a time.
const PAGE_ROWS: usize = 10_000;
/// The number of threads in a group up to which their filter is exact enough. It decides the size of the filter.
const GROUP_THREADS: u64 = 1024;

/// Writes a table.
pub(super) struct TableWriter {
    table: String,
    schema: SchemaRef,
    file: SerializedFileWriter<TableFile>,
    encoders: ArrowRowGroupWriterFactory,
    /// The encoders of the group's columns; empty before its first row.
    group: Vec<ArrowColumnWriter>,
    group_rows: usize,
    rows: u64,
}

impl TableWriter {
    pub(super) fn create(directory: &Path, table: &str, schema: SchemaRef) -> Result<TableWriter, WriteError> {
        let file = TableFile::create(directory.join(format!("{table}.parquet")))?;
        let failed = |source| WriteError::Parquet { table: table.to_string(), source };
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties(&schema))).map_err(failed)?;
        let (file, encoders) = writer.into_serialized_writer().map_err(failed)?;
        let table = table.to_string();
        Ok(TableWriter { table, schema, file, encoders, group: Vec::new(), group_rows: 0, rows: 0 })
    }

    /// Writes a batch. `encode` gets the columns of each part of it, and encodes those that no other thread encodes.
    pub(super) fn write(&mut self, batch: &RecordBatch, encode: impl Fn(&Arc<Columns>)) -> Result<(), WriteError> {
        let mut at = 0;
        while at < batch.num_rows() {
            let count = (batch.num_rows() - at).min(GROUP_ROWS - self.group_rows);
            let written = self.write_part(&batch.slice(at, count), &encode);
            written.map_err(|source| WriteError::Parquet { table: self.table.clone(), source })?;
            at += count;
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    fn write_part(&mut self, part: &RecordBatch, encode: impl Fn(&Arc<Columns>)) -> Result<(), ParquetError> {
        if self.group.is_empty() {
            self.group = self.encoders.create_column_writers(self.file.flushed_row_groups().len())?;
        }
        let fields = self.schema.fields().iter().cloned().zip(part.columns().iter().cloned());
        let columns = Arc::new(Columns::new(fields, std::mem::take(&mut self.group)));
        encode(&columns);
        self.group = columns.take()?;
        self.group_rows += part.num_rows();
        if self.group_rows == GROUP_ROWS { self.end_group() } else { Ok(()) }
    }

    fn end_group(&mut self) -> Result<(), ParquetError> {
        self.group_rows = 0;
        if self.group.is_empty() {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for encoder in self.group.drain(..) {
            encoder.close()?.append_to_row_group(&mut group)?;
        }
        group.close().map(drop)
    }

    /// Closes the file until the next write.
    pub(super) fn release_file(&mut self) {
        self.file.inner_mut().file = None;
    }

    /// Completes the file. Gives the number of rows.
    pub(super) fn close(mut self) -> Result<u64, WriteError> {
        let closed = self.end_group().and_then(|()| self.file.close());
        closed.map(|_| self.rows).map_err(|source| WriteError::Parquet { table: self.table, source })
    }
}

/// Columns of a batch that one or several threads encode.
pub(super) struct Columns(Vec<Mutex<Column>>);

struct Column {
    field: FieldRef,
    /// `None` once it is encoded.
    array: Option<ArrayRef>,
    /// `None` once it is taken back.
    encoder: Option<ArrowColumnWriter>,
    result: Result<(), ParquetError>,
}

impl Columns {
    /// Takes columns and their encoders. No column of a table is a structure: each has one encoder.
    fn new(columns: impl Iterator<Item = (FieldRef, ArrayRef)>, encoders: Vec<ArrowColumnWriter>) -> Columns {
        let column =
            |((field, array), encoder)| Column { field, array: Some(array), encoder: Some(encoder), result: Ok(()) };
        Columns(columns.zip(encoders).map(column).map(Mutex::new).collect())
    }

    /// Encodes each column that no other thread has.
    pub(super) fn encode(&self) {
        self.0.iter().filter_map(|column| column.try_lock().ok()).for_each(|mut column| column.encode());
    }

    /// Waits until all columns are encoded. Gives the encoders.
    fn take(&self) -> Result<Vec<ArrowColumnWriter>, ParquetError> {
        let back = self.0.iter().map(|column| {
            let mut column = column.lock().unwrap_or_else(PoisonError::into_inner);
            column.encode();
            std::mem::replace(&mut column.result, Ok(())).map(|()| column.encoder.take())
        });
        back.filter_map(Result::transpose).collect()
    }
}

impl Column {
    fn encode(&mut self) {
        let Column { field, array, encoder, result } = self;
        if let (Some(array), Some(encoder)) = (array.take(), encoder) {
            let leaves = compute_leaves(field, &array);
            *result = leaves.and_then(|leaves| leaves.iter().try_for_each(|leaf| encoder.write(leaf)));
        }
    }
}

/// The file of a table. It is opened again if it was closed between two writes.
struct TableFile {
    path: PathBuf,
    file: Option<File>,
}

impl TableFile {
    fn create(path: PathBuf) -> Result<TableFile, WriteError> {
        match File::create(&path) {
            Ok(file) => Ok(TableFile { path, file: Some(file) }),
            Err(source) => Err(WriteError::Io { path, source }),
        }
    }

    fn open(&mut self) -> std::io::Result<&mut File> {
        match &mut self.file {
            Some(file) => Ok(file),
            closed @ None => Ok(closed.insert(OpenOptions::new().append(true).open(&self.path)?)),
        }
    }
}

impl Write for TableFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.open()?.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.as_mut().map_or(Ok(()), File::flush)
    }
}

/// zstd level 1 for all columns but times and durations, which it makes no smaller once they are differences. Wide
/// integers are stored as differences: they are times and counts. Narrow integers are stored as they are: they are keys,
/// and zstd makes them as small as a dictionary would, without a hash of each. (Split into streams of bytes they would take a
/// tenth less, but DuckDB 1.4 reads only floating-point numbers in that form.) Names keep their dictionaries, copies of
/// stacks have none, because nearly all differ. Least and greatest values are kept only for what rises with the rows, times and
/// numbers of samples: queries ask for a window of time, and almost never for a range of something else. For threads there
/// is a filter of those that a group of rows has: most threads are in few groups. Threads have a dictionary, because the
/// filter then takes each of them once.
fn properties(schema: &SchemaRef) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).unwrap_or_default()))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_data_page_row_count_limit(PAGE_ROWS);
    for field in schema.fields() {
        let path = ColumnPath::from(field.name().as_str());
        match field.name().as_str() {
            "ts_ns" | "sample_id" => {
                builder = builder.set_column_statistics_enabled(path.clone(), EnabledStatistics::Chunk);
            }
            "user_stack" => builder = builder.set_column_dictionary_enabled(path.clone(), false),
            "utid" => {
                builder = builder
                    .set_column_bloom_filter_enabled(path.clone(), true)
                    .set_column_bloom_filter_max_ndv(path.clone(), GROUP_THREADS);
            }
            _ => {}
        }
        if field.data_type().is_integer() && field.name() != "utid" {
            let is_wide = matches!(field.data_type(), DataType::Int64 | DataType::UInt64);
            let is_rising = is_wide || field.name() == "sample_id";
            if is_wide && field.name().ends_with("_ns") {
                builder = builder.set_column_compression(path.clone(), Compression::UNCOMPRESSED);
            }
            let encoding = if is_rising { Encoding::DELTA_BINARY_PACKED } else { Encoding::PLAIN };
            builder = builder.set_column_dictionary_enabled(path.clone(), false).set_column_encoding(path, encoding);
        }
    }
    builder.build()
}
