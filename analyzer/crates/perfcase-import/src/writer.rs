//! Arrow batches to Parquet files, one file a table, on threads of their own.
//!
//! Encoding costs about as much as decoding, so they run side by side; the channels between them are short, which
//! bounds the memory. A table always goes to the same thread, so that its rows stay in order.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

/// Batches that may wait for one thread.
const QUEUE_LENGTH: usize = 8;
/// Threads that encode.
const THREADS: usize = 2;

/// Makes a batch on the writer's thread: columns from rows that were only collected.
pub type Build = Box<dyn FnOnce() -> Result<RecordBatch, ArrowError> + Send>;

/// The sending side.
pub struct Writer {
    threads: Vec<Encoder>,
    /// Which thread has which table, in the order of their first rows.
    tables: BTreeMap<String, usize>,
}

struct Encoder {
    sender: SyncSender<(String, Build)>,
    thread: JoinHandle<Result<BTreeMap<String, u64>, WriteError>>,
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
    /// A writer's thread is gone.
    #[error("the writer stopped early")]
    Stopped,
}

impl Writer {
    /// Starts the threads. Files appear in `directory`, which exists.
    pub fn start(directory: &Path) -> Writer {
        let start = |_| {
            let (sender, receiver) = sync_channel(QUEUE_LENGTH);
            let directory = directory.to_path_buf();
            let builder = std::thread::Builder::new().name("parquet".into());
            let thread = builder.spawn(move || write_all(&directory, receiver)).ok()?;
            Some(Encoder { sender, thread })
        };
        Writer { threads: (0..THREADS).filter_map(start).collect(), tables: BTreeMap::new() }
    }

    /// Queues rows of a table. A batch without rows makes sure that the file exists.
    pub fn write(&mut self, table: &str, build: Build) -> Result<(), WriteError> {
        let next = self.tables.len() % self.threads.len().max(1);
        let thread = *self.tables.entry(table.to_string()).or_insert(next);
        let encoder = self.threads.get(thread).ok_or(WriteError::Stopped)?;
        encoder.sender.send((table.to_string(), build)).map_err(|_| WriteError::Stopped)
    }

    /// Waits for the last byte; gives the rows of each table.
    pub fn finish(self) -> Result<BTreeMap<String, u64>, WriteError> {
        let mut counts = BTreeMap::new();
        // All channels close first: the threads finish side by side.
        let threads: Vec<_> = self.threads.into_iter().map(|encoder| encoder.thread).collect();
        for thread in threads {
            counts.extend(thread.join().map_err(|_| WriteError::Stopped)??);
        }
        Ok(counts)
    }
}

fn write_all(directory: &Path, receiver: Receiver<(String, Build)>) -> Result<BTreeMap<String, u64>, WriteError> {
    let mut files: BTreeMap<String, (ArrowWriter<File>, u64)> = BTreeMap::new();
    for (table, build) in receiver {
        let failed = |source| WriteError::Parquet { table: table.clone(), source };
        let batch = build().map_err(|error| failed(error.into()))?;
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

/// zstd level 1 everywhere. Wide integers as differences: they are times and counts. Narrow ones as they are: they are
/// keys, of which zstd makes as little as a dictionary would, without hashing each. Names keep their dictionaries. Least
/// and greatest values are kept of times only: queries ask for a window of time, hardly ever for a range of something
/// else.
fn properties(schema: &SchemaRef) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).unwrap_or_default()))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_max_row_group_row_count(Some(1 << 20));
    for field in schema.fields() {
        let path = ColumnPath::from(field.name().as_str());
        if field.name() == "ts_ns" {
            builder = builder.set_column_statistics_enabled(path.clone(), EnabledStatistics::Chunk);
        }
        if field.data_type().is_integer() {
            let is_wide = matches!(field.data_type(), DataType::Int64 | DataType::UInt64);
            let is_rising = is_wide || field.name() == "sample_id";
            let encoding = if is_rising { Encoding::DELTA_BINARY_PACKED } else { Encoding::PLAIN };
            builder = builder.set_column_dictionary_enabled(path.clone(), false).set_column_encoding(path, encoding);
        }
    }
    builder.build()
}
