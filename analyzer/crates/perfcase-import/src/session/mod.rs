//! Where all decoders' records meet, in the order of time, and become rows.

mod code;
mod events;
mod host;
mod issues;
mod load;
mod maps;
mod naming;
mod regions;
mod stacks;
mod threads;
mod unwinding;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use arrow_array::ArrayRef;
pub use perfcase_decode::NO_TIME;
use perfcase_decode::perf_data::FileSymbols;
use perfcase_symbols::Objects;

pub use code::SourceLine;
pub(crate) use events::EventsView;
pub use events::{EventAttr, EventId, SourceId, SourceInfo};
pub use host::HostFacts;
pub(crate) use load::placement;
pub use maps::Mapping;
pub(crate) use maps::SEVERAL_FILES;
pub use stacks::{Callers, EndReason};
pub use threads::{NameId, Upid, Utid, until_nul};
pub use unwinding::UserState;

use crate::tables::{self, Table, Tables};
use crate::timeline::Timelines;
use crate::tracepoint::Tracepoints;
use crate::writer::{Build, WriteError, Writer};
use perfcase_symbols::Kallsyms;

/// Rows that a table may hold before they are handed to the writer.
const BATCH_ROWS: usize = 65_536;

/// Everything that is known so far, and the rows that wait to be written.
pub struct Session {
    /// Builders of the tables with a fixed row: decoders push to them directly.
    pub tables: Tables,
    /// Pages of the recorded host: the unit of a mapping's offset in some records.
    pub page_size_bytes: u64,
    /// What decoders learned of the host.
    pub host: HostFacts,
    /// Object files of the capture and of the user.
    pub objects: Objects,
    /// Symbols of the recorded kernel that a recording carries itself: for a bare file, where no archive has them.
    pub kernel_symbols: Option<Kallsyms>,
    /// Functions of files by path, from the recording itself.
    pub file_symbols: HashMap<Vec<u8>, FileSymbols>,
    writer: Writer,
    /// Where the files appear.
    pub(crate) folder: PathBuf,
    pub(crate) write_error: Option<WriteError>,
    rows_since_flush: usize,
    start_ns: Option<i64>,
    last_ns: i64,
    sample_count: u32,
    pub(crate) issues: issues::Issues,
    pub(crate) threads: threads::Threads,
    pub(crate) maps: maps::Maps,
    pub(crate) stacks: stacks::Stacks,
    pub(crate) unwinding: unwinding::Unwinding,
    pub(crate) events: events::Events,
    pub(crate) tracepoints: Tracepoints,
    pub(crate) timelines: Timelines,
}

impl Session {
    /// Starts a session that writes Parquet files into `directory`.
    ///
    /// `start_ns` is the clock's reading that becomes `ts_ns` 0; without it the first record's time does.
    pub fn new(directory: &Path, start_ns: Option<i64>) -> Session {
        Session {
            tables: Tables::default(),
            page_size_bytes: 4096,
            host: HostFacts::default(),
            objects: Objects::default(),
            kernel_symbols: None,
            file_symbols: HashMap::new(),
            writer: Writer::start(directory),
            folder: directory.to_path_buf(),
            write_error: None,
            rows_since_flush: 0,
            start_ns,
            last_ns: start_ns.unwrap_or(0),
            sample_count: 0,
            issues: issues::Issues::default(),
            threads: threads::Threads::new(),
            maps: maps::Maps::new(),
            stacks: stacks::Stacks::new(),
            unwinding: unwinding::Unwinding::default(),
            events: events::Events::default(),
            tracepoints: Tracepoints::default(),
            timelines: Timelines::default(),
        }
    }

    /// The clock's reading at `ts_ns` 0; 0 as long as no record had a time.
    pub fn start_ns(&self) -> i64 {
        self.start_ns.unwrap_or(0)
    }

    /// The latest time seen, relative to the start.
    pub fn last_ts_ns(&self) -> i64 {
        self.last_ns.saturating_sub(self.start_ns())
    }

    /// A time of the clock as nanoseconds since the capture's start; `None` for [`NO_TIME`].
    #[inline]
    pub fn ts(&mut self, clock_ns: i64) -> Option<i64> {
        if clock_ns == NO_TIME {
            return None;
        }
        let start = *self.start_ns.get_or_insert(clock_ns);
        self.last_ns = self.last_ns.max(clock_ns);
        Some(clock_ns.saturating_sub(start))
    }

    /// Counts a row that was pushed to [`Session::tables`]; hands full tables to the writer.
    #[inline]
    pub fn row_added(&mut self) {
        self.rows_since_flush += 1;
        if self.rows_since_flush >= BATCH_ROWS {
            self.rows_since_flush = 0;
            self.flush(BATCH_ROWS / 4);
        }
    }

    /// The number of the next sample.
    #[inline]
    pub fn next_sample_id(&mut self) -> u32 {
        let id = self.sample_count;
        self.sample_count = self.sample_count.wrapping_add(1);
        id
    }

    /// Rows could not be written: the rest of the import is in vain.
    pub fn has_failed(&self) -> bool {
        self.write_error.is_some()
    }

    /// Hands every table with at least `least` rows to the writer.
    pub(crate) fn flush(&mut self, least: usize) {
        self.stream_timelines(least);
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
        for (name, build) in self.tracepoints.take(least) {
            self.write_later(&name, build);
        }
    }

    /// Queues rows of a table; they are made on the writer's thread.
    pub(crate) fn write_later(&mut self, table: &str, build: Build) {
        if let Err(failure) = self.writer.write(table, build) {
            self.write_error.get_or_insert(failure);
        }
    }

    /// Writes what is left and closes the files; gives the rows of each table.
    pub(crate) fn close(mut self) -> Result<BTreeMap<String, u64>, WriteError> {
        self.flush(0);
        match (self.writer.finish(), self.write_error) {
            // The thread's own error is the cause; "stopped early" only its echo.
            (Err(cause), _) => Err(cause),
            (Ok(_), Some(error)) => Err(error),
            (Ok(counts), None) => Ok(counts),
        }
    }
}
