//! The builders of rows, and a writer that takes full ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow_array::ArrayRef;

use crate::tables::{self, Table, Tables};
use crate::writer::{Build, QUEUE_LENGTH, WriteError, Writer};

/// The number of rows of a table after which the writer gets them.
pub(crate) const BATCH_ROWS: usize = 65_536;

/// The rows that wait to be written.
pub struct Sink {
    /// The builders of tables with a fixed row. Decoders push to them directly.
    pub tables: Tables,
    writer: Writer,
    /// The folder of the files.
    pub(crate) folder: PathBuf,
    pub(crate) write_error: Option<WriteError>,
    rows_since_flush: usize,
}

impl Sink {
    /// Starts a writer of files in `directory`.
    pub(crate) fn start(directory: &Path) -> Sink {
        Sink {
            tables: Tables::default(),
            writer: Writer::start(directory, QUEUE_LENGTH),
            folder: directory.to_path_buf(),
            write_error: None,
            rows_since_flush: 0,
        }
    }

    /// Counts a row that was pushed. True when it is time to flush.
    #[inline]
    pub(crate) fn is_full(&mut self) -> bool {
        self.rows_since_flush += 1;
        let is_full = self.rows_since_flush >= BATCH_ROWS;
        if is_full {
            self.rows_since_flush = 0;
        }
        is_full
    }

    /// Tells whether rows could not be written: then the rest of the import is useless.
    pub(crate) fn has_failed(&self) -> bool {
        self.write_error.is_some()
    }

    /// Notes why a file in the folder could not be written; the first reason stays.
    pub(crate) fn fail(&mut self, source: std::io::Error) {
        let path = self.folder.clone();
        self.write_error.get_or_insert(WriteError::Io { path, source });
    }

    /// Hands every table with at least `least` rows to the writer.
    pub(crate) fn flush(&mut self, least: usize) {
        let mut full: Vec<(String, Vec<ArrayRef>)> = Vec::new();
        self.tables.each(|table: &mut dyn Table| {
            if table.len() >= least {
                full.push((table.name().to_string(), table.take()));
            }
        });
        for (name, columns) in full {
            let table = name.clone();
            self.write_later(&name, Box::new(move || tables::batch(&table, columns)));
        }
    }

    /// Hands the rows of `sample_detail` to the writer: with copies of stacks few are many bytes.
    pub(crate) fn flush_details(&mut self) {
        let table = &mut self.tables.sample_detail;
        let (name, columns) = (table.name().to_string(), table.take());
        self.write_later(&name.clone(), Box::new(move || tables::batch(&name, columns)));
    }

    /// Queues rows of a table. The writer's thread makes them.
    pub(crate) fn write_later(&mut self, table: &str, build: Build) {
        if let Err(failure) = self.writer.write(table, build) {
            self.write_error.get_or_insert(failure);
        }
    }

    /// Closes the files. Gives the number of rows of each table.
    pub(crate) fn close(self) -> Result<BTreeMap<String, u64>, WriteError> {
        match (self.writer.finish(), self.write_error) {
            // The thread's own error is the cause of "stopped early".
            (Err(cause), _) => Err(cause),
            (Ok(_), Some(error)) => Err(error),
            (Ok(counts), None) => Ok(counts),
        }
    }
}
