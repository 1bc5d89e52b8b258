//! Arrow batches to Parquet files, one file a table, on a thread of its own.
//!
//! Encoding costs about as much as decoding, so the two run side by side; the channel between them is short,
//! which bounds the memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

/// Batches that may wait to be written.
const QUEUE_LENGTH: usize = 8;

enum Message {
    Rows(String, RecordBatch),
}

/// The sending side.
pub struct Writer {
    sender: Option<SyncSender<Message>>,
    thread: Option<JoinHandle<Result<BTreeMap<String, u64>, WriteError>>>,
}

/// Why a table could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file system refused.
    #[error("cannot write {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: std::io::Error,
    },
    /// The Parquet encoder refused.
    #[error("cannot write table {table}: {source}")]
    Parquet {
        /// The table.
        table: String,
        /// What it said.
        source: ParquetError,
    },
    /// The writer's thread is gone.
    #[error("the writer stopped early")]
    Stopped,
}

impl Writer {
    /// Starts the thread. Files appear in `directory`, which exists.
    pub fn start(directory: &Path) -> Writer {
        let (sender, receiver) = sync_channel(QUEUE_LENGTH);
        let directory = directory.to_path_buf();
        let thread =
            std::thread::Builder::new().name("parquet".into()).spawn(move || write_all(&directory, receiver)).ok();
        Writer { sender: Some(sender), thread }
    }

    /// Queues rows of a table. A batch without rows makes sure that the file exists.
    pub fn write(&self, table: &str, batch: RecordBatch) -> Result<(), WriteError> {
        let sender = self.sender.as_ref().ok_or(WriteError::Stopped)?;
        sender.send(Message::Rows(table.to_string(), batch)).map_err(|_| WriteError::Stopped)
    }

    /// Waits for the last byte; gives the rows of each table.
    pub fn finish(mut self) -> Result<BTreeMap<String, u64>, WriteError> {
        self.sender = None;
        let thread = self.thread.take().ok_or(WriteError::Stopped)?;
        thread.join().map_err(|_| WriteError::Stopped)?
    }
}

fn write_all(directory: &Path, receiver: Receiver<Message>) -> Result<BTreeMap<String, u64>, WriteError> {
    let mut files: BTreeMap<String, (ArrowWriter<File>, u64)> = BTreeMap::new();
    for Message::Rows(table, batch) in receiver {
        let failed = |source| WriteError::Parquet { table: table.clone(), source };
        if !files.contains_key(&table) {
            let path = directory.join(format!("{table}.parquet"));
            let file = File::create(&path).map_err(|source| WriteError::Io { path, source })?;
            let properties = properties(&batch.schema());
            let writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).map_err(failed)?;
            files.insert(table.clone(), (writer, 0));
        }
        if let Some((writer, rows)) = files.get_mut(&table) {
            writer.write(&batch).map_err(failed)?;
            *rows += batch.num_rows() as u64;
        }
    }
    let mut counts = BTreeMap::new();
    for (table, (writer, rows)) in files {
        writer.close().map_err(|source| WriteError::Parquet { table: table.clone(), source })?;
        counts.insert(table, rows);
    }
    Ok(counts)
}

/// zstd level 1 everywhere; times and row numbers as differences, which halves the size of an event table;
/// dictionaries only where values repeat.
fn properties(schema: &SchemaRef) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).unwrap_or_default()))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_max_row_group_row_count(Some(1 << 20));
    for field in schema.fields() {
        let name = field.name();
        let is_rising = name == "sample_id" || name.ends_with("ts_ns");
        if is_rising && field.data_type().is_integer() {
            let path = ColumnPath::from(name.as_str());
            builder = builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    builder.build()
}
