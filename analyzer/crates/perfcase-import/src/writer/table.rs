//! The Parquet file of a table.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{Sink, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{FieldRef, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};

use super::WriteError;
use super::column::{Column, Compressor, Words};

/// The most rows of a group. A query reads whole groups: those that may have rows of its window or its thread. DuckDB
/// reads groups side by side, and takes groups of about this size itself.
pub(super) const GROUP_ROWS: usize = 1 << 17;
/// The most rows of a page of the columns that Parquet's own writer makes. The compressor of each needs memory by the size of its
/// pages.
const PAGE_ROWS: usize = 10_000;

/// The end of the file lists the symbols of a column under this and the column's name: what asks for one that no row has needs to
/// read no row.
const WORDS: &str = "perfcase.values.";

/// Writes a table.
pub(super) struct TableWriter {
    table: String,
    schema: SchemaRef,
    file: SerializedFileWriter<TableFile>,
    /// Makes the encoders of lists and texts; `None` where there are none.
    others: Option<ArrowRowGroupWriterFactory>,
    /// The encoders of the group's columns; empty before its first row.
    group: Vec<Encoder>,
    group_rows: usize,
    /// The symbols of the groups before.
    words: Words,
    rows: u64,
}

impl TableWriter {
    pub(super) fn create(directory: &Path, table: &str, schema: SchemaRef) -> Result<TableWriter, WriteError> {
        let file = TableFile::create(directory.join(format!("{table}.parquet")))?;
        let failed = |source| WriteError::Parquet { table: table.to_string(), source };
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties())).map_err(failed)?;
        let (file, _) = writer.into_serialized_writer().map_err(failed)?;
        let columns = schema.fields().iter().zip(file.schema_descr().columns());
        let others = columns.filter(|(field, about)| Column::begin(field, about).is_none());
        let others: Vec<FieldRef> = others.map(|(field, _)| field.clone()).collect();
        let others = if others.is_empty() { None } else { Some(encoders_of(others).map_err(failed)?) };
        let table = table.to_string();
        Ok(TableWriter { table, schema, file, others, group: Vec::new(), group_rows: 0, words: Words::new(), rows: 0 })
    }

    /// Writes a batch. `encode` gets the columns of each part of it, and encodes those that no other thread encodes.
    pub(super) fn write(
        &mut self,
        batch: &RecordBatch,
        compressor: &mut Compressor,
        encode: impl Fn(&Arc<Columns>, &mut Compressor),
    ) -> Result<(), WriteError> {
        let mut at = 0;
        while at < batch.num_rows() {
            let count = (batch.num_rows() - at).min(GROUP_ROWS - self.group_rows);
            let written = self.write_part(&batch.slice(at, count), compressor, &encode);
            written.map_err(|source| WriteError::Parquet { table: self.table.clone(), source })?;
            at += count;
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    fn write_part(
        &mut self,
        part: &RecordBatch,
        compressor: &mut Compressor,
        encode: impl Fn(&Arc<Columns>, &mut Compressor),
    ) -> Result<(), ParquetError> {
        if self.group.is_empty() {
            self.group = self.begin_group()?;
        }
        let fields = self.schema.fields().iter().cloned().zip(part.columns().iter().cloned());
        let columns = Arc::new(Columns::new(fields, std::mem::take(&mut self.group)));
        encode(&columns, compressor);
        self.group = columns.take(compressor)?;
        self.group_rows += part.num_rows();
        if self.group_rows == GROUP_ROWS { self.end_group(compressor) } else { Ok(()) }
    }

    fn begin_group(&self) -> Result<Vec<Encoder>, ParquetError> {
        let group = self.file.flushed_row_groups().len();
        let others = self.others.as_ref().map(|others| others.create_column_writers(group)).transpose()?;
        let mut others = others.unwrap_or_default().into_iter().map(|other| Encoder::Other(Box::new(other)));
        let columns = self.schema.fields().iter().zip(self.file.schema_descr().columns());
        let encoder = |(field, about): (&FieldRef, _)| {
            let own = Column::begin(field, about).map(|column| Encoder::Own(Box::new(column)));
            own.or_else(|| others.next())
        };
        Ok(columns.filter_map(encoder).collect())
    }

    fn end_group(&mut self, compressor: &mut Compressor) -> Result<(), ParquetError> {
        self.group_rows = 0;
        if self.group.is_empty() {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for encoder in self.group.drain(..) {
            if let Encoder::Own(column) = &encoder {
                column.add_words(&mut self.words);
            }
            encoder.end(&mut group, compressor)?;
        }
        group.close().map(drop)
    }

    /// Closes the file until the next write.
    pub(super) fn release_file(&mut self) {
        self.file.inner_mut().file = None;
    }

    /// Completes the file. Gives the number of rows.
    pub(super) fn close(mut self, compressor: &mut Compressor) -> Result<u64, WriteError> {
        let ended = self.end_group(compressor);
        for (column, words) in std::mem::take(&mut self.words) {
            if let Some(lines) = words.as_ref().and_then(lines_of) {
                self.file.append_key_value_metadata(KeyValue::new(format!("{WORDS}{column}"), lines));
            }
        }
        let closed = ended.and_then(|()| self.file.close());
        closed.map(|_| self.rows).map_err(|source| WriteError::Parquet { table: self.table, source })
    }
}

/// What encodes a column of a group.
enum Encoder {
    Own(Box<Column>),
    Other(Box<ArrowColumnWriter>),
}

impl Encoder {
    fn write(&mut self, field: &FieldRef, array: &ArrayRef, compressor: &mut Compressor) -> Result<(), ParquetError> {
        match self {
            Encoder::Own(column) => column.write(array, compressor),
            Encoder::Other(other) => compute_leaves(field, array)?.iter().try_for_each(|leaf| other.write(leaf)),
        }
    }

    fn end(
        self,
        group: &mut SerializedRowGroupWriter<'_, TableFile>,
        compressor: &mut Compressor,
    ) -> Result<(), ParquetError> {
        match self {
            Encoder::Own(column) => {
                let (bytes, about) = column.end(compressor)?;
                group.append_column(&bytes, about)
            }
            Encoder::Other(other) => other.close()?.append_to_row_group(group),
        }
    }
}

/// Columns of a batch that one or several threads encode.
pub(super) struct Columns(Vec<Mutex<Part>>);

/// The part of a column that is in a batch.
struct Part {
    field: FieldRef,
    /// `None` once it is encoded.
    array: Option<ArrayRef>,
    /// `None` once it is taken back.
    encoder: Option<Encoder>,
    result: Result<(), ParquetError>,
}

impl Columns {
    /// Takes columns and their encoders. No column of a table is a structure: each has one encoder.
    fn new(columns: impl Iterator<Item = (FieldRef, ArrayRef)>, encoders: Vec<Encoder>) -> Columns {
        let part =
            |((field, array), encoder)| Part { field, array: Some(array), encoder: Some(encoder), result: Ok(()) };
        Columns(columns.zip(encoders).map(part).map(Mutex::new).collect())
    }

    /// Encodes each column that no other thread has.
    pub(super) fn encode(&self, compressor: &mut Compressor) {
        self.0.iter().filter_map(|part| part.try_lock().ok()).for_each(|mut part| part.encode(compressor));
    }

    /// Waits until all columns are encoded. Gives the encoders.
    fn take(&self, compressor: &mut Compressor) -> Result<Vec<Encoder>, ParquetError> {
        let back = self.0.iter().map(|part| {
            let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
            part.encode(compressor);
            std::mem::replace(&mut part.result, Ok(())).map(|()| part.encoder.take())
        });
        back.filter_map(Result::transpose).collect()
    }
}

impl Part {
    fn encode(&mut self, compressor: &mut Compressor) {
        let Part { field, array, encoder, result } = self;
        if let (Some(array), Some(encoder)) = (array.take(), encoder) {
            *result = encoder.write(field, &array, compressor);
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

/// Gives words, each with the end of a line; `None` if one has such an end itself.
fn lines_of(words: &BTreeSet<Vec<u8>>) -> Option<String> {
    let words = words.iter().map(|word| std::str::from_utf8(word).ok().filter(|word| !word.contains('\n')));
    words.map(|word| word.map(|word| format!("{word}\n"))).collect()
}

/// Gives what makes the encoders of columns that have no own one here.
fn encoders_of(fields: Vec<FieldRef>) -> Result<ArrowRowGroupWriterFactory, ParquetError> {
    let writer = ArrowWriter::<Sink>::try_new(std::io::sink(), Arc::new(Schema::new(fields)), Some(properties()))?;
    writer.into_serialized_writer().map(|(_, encoders)| encoders)
}

/// zstd level 1 for all columns but times and durations, which it makes no smaller once they are differences (`Column`). Copies of
/// stacks have no dictionary, because nearly all differ. Least and greatest values are kept only for what rises with the rows, times
/// and numbers of samples: queries ask for a window of time, and almost never for a range of something else. For threads there
/// is a filter of those that a group of rows has: most threads are in few groups. Pages are not listed: groups are small.
fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_column_dictionary_enabled("user_stack".into(), false)
        .build()
}
