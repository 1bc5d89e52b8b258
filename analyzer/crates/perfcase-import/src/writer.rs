//! Writes Arrow batches to Parquet files, one file for each table, on its own threads.
//!
//! Encoding takes about as much time as decoding, so they run side by side. The channels between them are short, which
//! bounds the memory. A table always goes to the same thread, so that its rows stay in order.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
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

/// The most batches that may wait for one thread.
const QUEUE_LENGTH: usize = 8;
/// The number of threads that encode.
const THREADS: usize = 2;
/// The most files that one thread keeps open. A capture may have a table for each of a thousand tracepoints, and a
/// process often may open at most 1,024 files.
const OPEN_FILES: usize = 128;

/// The most rows of a group. A query reads whole groups: those that may have rows of its window or its thread. DuckDB
/// reads groups side by side, and takes groups of about this size itself.
const GROUP_ROWS: usize = 1 << 17;
/// The number of threads in a group up to which their filter is exact enough. It decides the size of the filter.
const GROUP_THREADS: u64 = 1024;

/// Makes a batch on the writer's thread: columns from rows that were only collected before.
pub type Build = Box<dyn FnOnce() -> Result<RecordBatch, ArrowError> + Send>;

/// The sending side.
pub struct Writer {
    threads: Vec<Encoder>,
    /// The thread of each table. The tables get their threads in the order of their first rows.
    tables: BTreeMap<String, usize>,
}

struct Encoder {
    sender: SyncSender<(String, Build)>,
    thread: JoinHandle<Result<BTreeMap<String, u64>, WriteError>>,
}

/// The reason why a table could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file system refused.
    #[error("cannot write {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the file system.
        source: std::io::Error,
    },
    /// The Parquet encoder refused.
    #[error("cannot write table {table}: {source}")]
    Parquet {
        /// The table.
        table: String,
        /// The error of the encoder.
        source: ParquetError,
    },
    /// A writer's thread is gone.
    #[error("the writer stopped early")]
    Stopped,
}

impl Writer {
    /// Starts the threads. They write files in `directory`, which must exist.
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

    /// Waits until everything is written. Gives the number of rows of each table.
    pub fn finish(self) -> Result<BTreeMap<String, u64>, WriteError> {
        let mut counts = BTreeMap::new();
        // All channels close first, so that the threads finish side by side.
        let threads: Vec<_> = self.threads.into_iter().map(|encoder| encoder.thread).collect();
        for thread in threads {
            counts.extend(thread.join().map_err(|_| WriteError::Stopped)??);
        }
        Ok(counts)
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

fn write_all(directory: &Path, receiver: Receiver<(String, Build)>) -> Result<BTreeMap<String, u64>, WriteError> {
    let mut files: BTreeMap<String, (ArrowWriter<TableFile>, u64)> = BTreeMap::new();
    for (table, build) in receiver {
        let failed = |source| WriteError::Parquet { table: table.clone(), source };
        let batch = build().map_err(|error| failed(error.into()))?;
        if !files.contains_key(&table) {
            let path = directory.join(format!("{table}.parquet"));
            let file = TableFile::create(path)?;
            let properties = properties(&batch.schema());
            let writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).map_err(failed)?;
            files.insert(table.clone(), (writer, 0));
        }
        let are_many = files.len() > OPEN_FILES;
        if let Some((writer, rows)) = files.get_mut(&table) {
            writer.write(&batch).map_err(failed)?;
            *rows += batch.num_rows() as u64;
            if are_many {
                writer.inner_mut().file = None;
            }
        }
    }
    let mut counts = BTreeMap::new();
    for (table, (writer, rows)) in files {
        writer.close().map_err(|source| WriteError::Parquet { table: table.clone(), source })?;
        counts.insert(table, rows);
    }
    Ok(counts)
}

/// zstd level 1 for all columns but times and durations, which it makes no smaller once they are differences. Wide integers are stored as differences: they are times and counts. Narrow integers
/// are stored as they are: they are keys, and zstd makes them as small as a dictionary would, without a hash of each.
/// Names keep their dictionaries. Least and greatest values are kept only for what rises with the rows, times and numbers
/// of samples: queries ask for a window of time, and almost never for a range of something else. For threads there is a
/// filter of those that a group of rows has: most threads are in few groups.
fn properties(schema: &SchemaRef) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).unwrap_or_default()))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_max_row_group_row_count(Some(GROUP_ROWS));
    for field in schema.fields() {
        let path = ColumnPath::from(field.name().as_str());
        match field.name().as_str() {
            "ts_ns" | "sample_id" => {
                builder = builder.set_column_statistics_enabled(path.clone(), EnabledStatistics::Chunk);
            }
            "utid" => {
                builder = builder
                    .set_column_bloom_filter_enabled(path.clone(), true)
                    .set_column_bloom_filter_max_ndv(path.clone(), GROUP_THREADS);
            }
            _ => {}
        }
        if field.data_type().is_integer() {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int64Array, RecordBatch, UInt32Array};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
    use parquet::file::properties::ReaderProperties;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::file::serialized_reader::ReadOptionsBuilder;

    use super::*;

    fn batch(number: i64) -> Build {
        Box::new(move || RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![number; 3])) as _)]))
    }

    /// Gives the number of files below a folder that this process has open.
    fn open_below(folder: &Path) -> usize {
        let links = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        links.filter(|link| std::fs::read_link(link.path()).is_ok_and(|file| file.starts_with(folder))).count()
    }

    #[test]
    fn a_group_tells_its_times_and_its_threads() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::start(folder.path());
        let count = 2 * GROUP_ROWS as i64 + 5;
        let build = move || {
            // Each group has a thread of its own, and one that all have.
            let thread = |row: i64| if row % 2 == 0 { 7 } else { 100 + (row / GROUP_ROWS as i64) as u32 };
            let times = Int64Array::from_iter_values((0..count).map(|row| row * 10));
            let threads = UInt32Array::from_iter_values((0..count).map(thread));
            RecordBatch::try_from_iter([("ts_ns", Arc::new(times) as _), ("utid", Arc::new(threads) as _)])
        };
        writer.write("t", Box::new(build)).unwrap();
        writer.finish().unwrap();
        let file = File::open(folder.path().join("t.parquet")).unwrap();
        let properties = ReaderProperties::builder().set_read_bloom_filter(true).build();
        let options = ReadOptionsBuilder::new().with_reader_properties(properties).build();
        let reader = SerializedFileReader::new_with_options(file, options).unwrap();
        let rows: Vec<i64> = reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
        assert_eq!(rows, [GROUP_ROWS as i64, GROUP_ROWS as i64, 5]);
        for group in 0..rows.len() {
            let found = reader.get_row_group(group).unwrap();
            assert!(found.metadata().column(0).statistics().is_some_and(|known| known.min_bytes_opt().is_some()));
            let filter = found.get_column_bloom_filter(1).unwrap();
            let known: Vec<bool> = [7, 100, 101, 102].iter().map(|thread: &u32| filter.check(thread)).collect();
            assert_eq!(known, [true, group == 0, group == 1, group == 2], "group {group}");
        }
    }

    #[test]
    fn many_tables_do_not_keep_many_files_open() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::start(folder.path());
        let mut most = 0;
        for number in 0..3 {
            for table in 0..700 {
                writer.write(&format!("t{table}"), batch(number)).unwrap();
                most = most.max(if table % 50 == 0 { open_below(folder.path()) } else { 0 });
            }
        }
        let rows = writer.finish().unwrap();
        assert_eq!((rows.len(), rows.values().sum::<u64>()), (700, 700 * 9));
        assert!(most < 300, "{most} files were open");
        let file = File::open(folder.path().join("t699.parquet")).unwrap();
        let read: usize = ParquetRecordBatchReader::try_new(file, 100).unwrap().map(|b| b.unwrap().num_rows()).sum();
        assert_eq!(read, 9);
    }
}
