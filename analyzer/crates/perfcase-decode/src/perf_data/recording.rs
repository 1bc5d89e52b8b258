//! A perf.data after one pass over it: what it says about itself, and where its records are.

use std::collections::BTreeMap;

use super::arena::Arena;
use super::build_id::BuildId;
use super::bytes::ByteOrder;
use super::deferred::Deferred;
use super::events::Events;
use super::features::Features;
use super::index::{Entry, Index};
use super::problem::Problems;
use super::record::{HEADER_BYTES, RecordHeader};
use super::simpleperf::Simpleperf;
use super::tracing_data::TracingData;

/// Set in a place that is in the arena of decompressed records.
const IN_ARENA: u64 = 1 << 63;
/// A time above this (146 years) is damage.
pub const LATEST_NS: u64 = 1 << 62;

/// What one pass over a file found.
pub struct Recording {
    /// Byte order of the recorder.
    pub order: ByteOrder,
    /// True for pipe mode.
    pub is_pipe: bool,
    /// The file's size field was never written: perf was killed.
    pub was_killed: bool,
    /// The events.
    pub events: Events,
    /// Header features.
    pub features: Features,
    /// Formats and more out of tracefs.
    pub tracing: Option<TracingData>,
    /// Build ids of files.
    pub build_ids: Vec<BuildId>,
    /// Records of the kernel.
    pub index: Index,
    /// User callchains that were recorded apart from their samples.
    pub deferred: Deferred,
    /// Records by type, all of them.
    pub counts: BTreeMap<u32, u64>,
    /// What simpleperf says, where it recorded.
    pub simpleperf: Option<Simpleperf>,
    /// What is wrong.
    pub problems: Problems,
    /// Decompressed records.
    pub arena: Arena,
    /// Where in the arena the content of which compressed record of the file begins.
    pub arena_origins: Vec<(u64, u64)>,
}

impl Recording {
    /// Nothing read yet.
    pub fn new(order: ByteOrder, is_pipe: bool) -> Recording {
        Recording {
            order,
            is_pipe,
            was_killed: false,
            events: Events::new(order),
            features: Features::default(),
            tracing: None,
            build_ids: Vec::new(),
            index: Index::default(),
            deferred: Deferred::default(),
            counts: BTreeMap::new(),
            simpleperf: None,
            problems: Problems::default(),
            arena: Arena::default(),
            arena_origins: Vec::new(),
        }
    }

    /// Adds a record to the index.
    #[inline]
    pub fn add(&mut self, time: u64, offset: u64, is_in_arena: bool) {
        self.index.push(Entry { time, place: if is_in_arena { offset | IN_ARENA } else { offset } });
    }

    /// Takes the last record out of the index again if it is the one at this place in the file.
    pub fn drop_last(&mut self, offset: u64) {
        if self.index.last().is_some_and(|entry| entry.place == offset) {
            self.index.pop();
        }
    }

    /// The header and the body of an indexed record.
    #[inline]
    pub fn record<'a>(&'a self, file: &'a [u8], entry: Entry) -> Option<(RecordHeader, &'a [u8])> {
        let bytes = if entry.place & IN_ARENA != 0 { self.arena.bytes() } else { file };
        record_at(bytes, (entry.place & !IN_ARENA) as usize, self.order)
    }

    /// Where in the arena a record is; None for one of the file.
    #[inline]
    pub fn arena_offset(&self, entry: Entry) -> Option<u64> {
        (entry.place & IN_ARENA != 0).then_some(entry.place & !IN_ARENA)
    }

    /// Where in the file a record is, or the compressed record that it came from.
    pub fn file_offset(&self, entry: Entry) -> u64 {
        let offset = entry.place & !IN_ARENA;
        if entry.place & IN_ARENA == 0 {
            return offset;
        }
        let after = self.arena_origins.partition_point(|&(start, _)| start <= offset);
        after.checked_sub(1).map_or(0, |origin| self.arena_origins[origin].1)
    }
}

/// The header at `at`; None past the end.
#[inline]
pub fn header_at(bytes: &[u8], at: usize, order: ByteOrder) -> Option<RecordHeader> {
    let header = bytes.get(at..at.checked_add(HEADER_BYTES)?)?;
    Some(RecordHeader { kind: order.u32(header, 0)?, misc: order.u16(header, 4)?, size: order.u16(header, 6)? })
}

/// The header at `at` and the body behind it; None where they do not fit.
#[inline]
pub fn record_at(bytes: &[u8], at: usize, order: ByteOrder) -> Option<(RecordHeader, &[u8])> {
    let header = header_at(bytes, at, order)?;
    let body = bytes.get(at + HEADER_BYTES..at + usize::from(header.size))?;
    Some((header, body))
}
