//! Writes Arrow batches to Parquet files, one file for each table, on its own threads.
//!
//! The thread that decodes only collects rows. A writer's thread takes the oldest batch that waits, makes its columns
//! and encodes them. Batches of one table are written one after the other, so that its rows stay in order. A thread
//! that finds no batch helps another thread with the columns of its batch: so all threads have work until the last
//! table is written. Few batches may wait, which bounds the memory.

mod column;
mod dictionary;
mod encoding;
pub(crate) mod memory;
mod table;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use parquet::errors::ParquetError;

use column::Compressor;
use table::{Columns, TableWriter};

/// The most batches of many tables that may wait.
pub(crate) const QUEUE_LENGTH: usize = 4;
/// The number of threads that encode.
const THREADS: usize = 2;
/// The most files that stay open. A capture may have a table for each of a thousand tracepoints, and a process often may
/// open at most 1,024 files.
const OPEN_FILES: usize = 256;

/// The rows after which freed memory goes back to the kernel: batches of many sizes leave it in ever more pieces.
const GIVE_BACK_ROWS: usize = 1 << 22;

/// Makes a batch on the writer's thread: columns from rows that were only collected before.
pub type Build = Box<dyn FnOnce() -> Result<RecordBatch, ArrowError> + Send>;

/// The sending side.
pub struct Writer {
    shared: Arc<Shared>,
    queue_length: usize,
    threads: Vec<JoinHandle<()>>,
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
    /// A table that was written cannot be read back.
    #[error("cannot read back {path}: {message}")]
    Back {
        /// The file.
        path: PathBuf,
        /// What the file system or the decoder says.
        message: String,
    },
    /// A writer's thread is gone.
    #[error("the writer stopped early")]
    Stopped,
}

impl Writer {
    /// Starts the threads. They write files in `directory`, which must exist. At most `queue_length` batches wait.
    pub fn start(directory: &Path, queue_length: usize) -> Writer {
        let shared = Arc::new(Shared::default());
        let start = |_| {
            let (shared, directory) = (shared.clone(), directory.to_path_buf());
            let builder = std::thread::Builder::new().name("parquet".into());
            builder.spawn(move || shared.run(&directory)).ok()
        };
        let threads = (0..THREADS).filter_map(start).collect();
        Writer { shared, queue_length, threads }
    }

    /// Queues rows of a table, and waits until no more batches wait than may. A batch without rows makes sure that the
    /// file exists.
    pub fn write(&mut self, table: &str, build: Build) -> Result<(), WriteError> {
        let mut state = self.shared.lock();
        if state.failure.is_some() || self.threads.is_empty() {
            return Err(WriteError::Stopped);
        }
        state.waiting.push_back((table.to_string(), build));
        self.shared.changed.notify_all();
        while state.waiting.len() > self.queue_length && state.failure.is_none() {
            state = self.shared.wait(state);
        }
        Ok(())
    }

    /// Waits until everything is written. Gives the number of rows of each table.
    pub fn finish(mut self) -> Result<BTreeMap<String, u64>, WriteError> {
        self.shared.lock().is_complete = true;
        self.join();
        let mut state = self.shared.lock();
        state.failure.take().map_or_else(|| Ok(std::mem::take(&mut state.counts)), Err)
    }

    fn join(&mut self) {
        self.shared.changed.notify_all();
        // A thread that panicked has noted it.
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// An import that fails ends here: its threads would wait for batches for as long as the process lives.
impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.lock().failure.get_or_insert(WriteError::Stopped);
        self.join();
    }
}

/// What the threads have in common.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Batches by table, the oldest first.
    waiting: VecDeque<(String, Build)>,
    /// No more batches come.
    is_complete: bool,
    /// The tables with batches so far. One that a thread has at the moment is `None`.
    tables: BTreeMap<String, Option<TableWriter>>,
    /// Columns that a thread encodes and others may help with.
    columns: Vec<Arc<Columns>>,
    /// The rows of each table whose file is closed.
    counts: BTreeMap<String, u64>,
    failure: Option<WriteError>,
    /// The rows that were written since memory went back to the kernel.
    rows: usize,
}

/// What a thread does next.
enum Work {
    Write(String, Build, Option<TableWriter>),
    Help(Arc<Columns>),
    Close(String, TableWriter),
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, failure: WriteError) {
        self.lock().failure.get_or_insert(failure);
        self.changed.notify_all();
    }

    /// Works until everything is written, or something could not be written.
    fn run(&self, directory: &Path) {
        let _alarm = Alarm(self);
        let mut compressor = match Compressor::new() {
            Ok(compressor) => compressor,
            Err(source) => return self.fail(WriteError::Io { path: directory.to_path_buf(), source }),
        };
        while let Some(work) = self.next() {
            let done = match work {
                Work::Write(table, build, writer) => self.write(directory, table, build, writer, &mut compressor),
                Work::Help(columns) => {
                    columns.encode(&mut compressor);
                    Ok(())
                }
                Work::Close(table, writer) => writer.close(&mut compressor).map(|rows| {
                    self.lock().counts.insert(table, rows);
                }),
            };
            done.unwrap_or_else(|failure| self.fail(failure));
        }
    }

    /// Waits for work; `None` at the end.
    fn next(&self) -> Option<Work> {
        let mut state = self.lock();
        loop {
            let State { waiting, tables, columns, is_complete, failure, .. } = &mut *state;
            let is_free = |(table, _): &(String, Build)| tables.get(table).is_none_or(Option::is_some);
            if failure.is_some() {
                return None;
            } else if let Some(at) = waiting.iter().position(is_free) {
                let (table, build) = waiting.remove(at)?;
                let writer = tables.insert(table.clone(), None).flatten();
                self.changed.notify_all();
                return Some(Work::Write(table, build, writer));
            } else if let Some(columns) = columns.pop() {
                return Some(Work::Help(columns));
            } else if *is_complete && waiting.is_empty() {
                match tables.iter_mut().find_map(|(table, writer)| Some((table.clone(), writer.take()?))) {
                    Some((table, writer)) => {
                        tables.remove(&table);
                        return Some(Work::Close(table, writer));
                    }
                    None if tables.is_empty() => return None,
                    None => {}
                }
            }
            state = self.wait(state);
        }
    }

    fn write(
        &self,
        directory: &Path,
        table: String,
        build: Build,
        writer: Option<TableWriter>,
        compressor: &mut Compressor,
    ) -> Result<(), WriteError> {
        let batch = build().map_err(|error| WriteError::Parquet { table: table.clone(), source: error.into() })?;
        let mut writer = writer.map_or_else(|| TableWriter::create(directory, &table, batch.schema()), Ok)?;
        writer.write(&batch, compressor, |columns, compressor| {
            self.lock().columns.push(columns.clone());
            self.changed.notify_all();
            columns.encode(compressor);
            self.lock().columns.retain(|other| !Arc::ptr_eq(other, columns));
        })?;
        let mut state = self.lock();
        if state.tables.len() > OPEN_FILES {
            writer.release_file();
        }
        state.tables.insert(table, Some(writer));
        state.rows += batch.num_rows();
        let is_time = state.rows >= GIVE_BACK_ROWS;
        if is_time {
            state.rows = 0;
        }
        drop(state);
        self.changed.notify_all();
        drop(batch);
        if is_time {
            memory::give_back();
        }
        Ok(())
    }
}

/// Tells the others that a thread panicked: they would wait for its table.
struct Alarm<'a>(&'a Shared);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(WriteError::Stopped);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::Arc;

    use arrow_array::{Int64Array, RecordBatch, UInt32Array};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
    use parquet::file::properties::ReaderProperties;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::file::serialized_reader::ReadOptionsBuilder;

    use super::table::GROUP_ROWS;
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
        let mut writer = Writer::start(folder.path(), QUEUE_LENGTH);
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
        let mut writer = Writer::start(folder.path(), QUEUE_LENGTH);
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

    #[test]
    fn an_import_that_fails_leaves_no_thread() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::start(folder.path(), QUEUE_LENGTH);
        writer.write("t", batch(0)).unwrap();
        let shared = writer.shared.clone();
        drop(writer);
        assert_eq!(Arc::strong_count(&shared), 1);
    }

    #[test]
    fn a_batch_that_cannot_be_made_ends_the_writing() {
        let refused: Build = Box::new(|| Err(ArrowError::ComputeError("no".into())));
        let panics: Build = Box::new(|| panic!("of a test"));
        let outcomes = [refused, panics].map(|build| {
            let folder = tempfile::tempdir().unwrap();
            let mut writer = Writer::start(folder.path(), QUEUE_LENGTH);
            writer.write("t", build).unwrap();
            while writer.write("t", batch(0)).is_ok() {}
            writer.finish().unwrap_err().to_string()
        });
        assert_eq!(outcomes, ["cannot write table t: External: Compute error: no", "the writer stopped early"]);
    }
}
