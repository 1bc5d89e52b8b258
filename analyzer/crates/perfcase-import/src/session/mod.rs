//! Makes rows of the records of all decoders, in the order of time.

mod code;
mod compat;
mod events;
mod hooks;
mod host;
mod issues;
mod maps;
mod naming;
mod stacks;
mod threads;
mod timelines;
mod tracepoint;
mod unwinding;

use std::collections::BTreeMap;
use std::path::Path;

pub use perfcase_decode::NO_TIME;
use perfcase_symbols::Objects;

use crate::model::Model;
pub use crate::model::events::{EventAttr, EventId, SourceId, SourceInfo};
pub use crate::model::host::HostFacts;
pub use crate::model::maps::Mapping;
pub use crate::model::stacks::{Callers, EndReason};
pub use crate::model::threads::{NameId, Upid, Utid, until_nul};
use crate::sink::{BATCH_ROWS, Sink};
use crate::timeline::Timelines;
use crate::tracepoint::Tracepoints;
use crate::writer::WriteError;
pub use unwinding::{Unwound, UserState};

/// The state so far, and the rows that wait to be written.
pub struct Session {
    /// The builders of rows and their writer.
    pub sink: Sink,
    /// The state at this moment.
    pub(crate) model: Model,
    /// Object files of the capture and of the user.
    pub objects: Objects,
    start_ns: Option<i64>,
    last_ns: i64,
    sample_count: u32,
    pub(crate) unwinding: unwinding::Unwinding,
    pub(crate) tracepoints: Tracepoints,
    pub(crate) timelines: Timelines,
    compat: compat::Compat,
}

impl Session {
    /// Starts a session that writes Parquet files into `directory`.
    ///
    /// `start_ns` is the reading of the clock that becomes `ts_ns` 0; without it, the time of the first record is 0.
    pub fn new(directory: &Path, start_ns: Option<i64>) -> Session {
        Session {
            sink: Sink::start(directory),
            model: Model::new(),
            objects: Objects::default(),
            start_ns,
            last_ns: start_ns.unwrap_or(0),
            sample_count: 0,
            unwinding: unwinding::Unwinding::default(),
            tracepoints: Tracepoints::default(),
            timelines: Timelines::default(),
            compat: compat::Compat::default(),
        }
    }

    /// Gives the clock's reading at `ts_ns` 0; 0 before the first record with a time.
    pub fn start_ns(&self) -> i64 {
        self.start_ns.unwrap_or(0)
    }

    /// Gives the latest time, in ns since the start.
    pub fn last_ts_ns(&self) -> i64 {
        self.last_ns.saturating_sub(self.start_ns())
    }

    /// Converts a time of the clock to ns since the capture's start; `None` for [`NO_TIME`].
    #[inline]
    pub fn ts(&mut self, clock_ns: i64) -> Option<i64> {
        if clock_ns == NO_TIME {
            return None;
        }
        let start = *self.start_ns.get_or_insert(clock_ns);
        self.last_ns = self.last_ns.max(clock_ns);
        Some(clock_ns.saturating_sub(start))
    }

    /// Counts a row that was pushed to [`Sink::tables`], and hands full tables to the writer.
    #[inline]
    pub fn row_added(&mut self) {
        if self.sink.is_full() {
            self.flush(BATCH_ROWS / 4);
        }
    }

    /// Gives the number of the next sample.
    #[inline]
    pub fn next_sample_id(&mut self) -> u32 {
        let id = self.sample_count;
        self.sample_count = self.sample_count.wrapping_add(1);
        id
    }

    /// Tells whether rows could not be written: then the rest of the import is useless.
    pub fn has_failed(&self) -> bool {
        self.sink.has_failed()
    }

    /// Hands every table with at least `least` rows to the writer.
    pub(crate) fn flush(&mut self, least: usize) {
        self.stream_timelines(least);
        self.sink.flush(least);
        for (name, build) in self.tracepoints.take(least) {
            self.sink.write_later(&name, build);
        }
    }

    /// Writes the remaining rows and closes the files. Gives the number of rows of each table.
    pub(crate) fn close(mut self) -> Result<BTreeMap<String, u64>, WriteError> {
        self.flush(0);
        self.sink.close()
    }
}
