//! A perf.data after it was read once: what it says about itself, and the places of its records.

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

/// The bit of a place that is in the arena of decompressed records.
const IN_ARENA: u64 = 1 << 63;
/// A time above this is damage: 73 years in ns. Columns of times hold no larger numbers.
pub const LATEST_NS: u64 = 1 << 61;

/// What was found when the file was read once.
pub struct Recording {
    /// Byte order of the recorder.
    pub order: ByteOrder,
    /// True for pipe mode.
    pub is_pipe: bool,
    /// perf was killed before it wrote the file's size.
    pub was_killed: bool,
    /// The events.
    pub events: Events,
    /// Header features.
    pub features: Features,
    /// Formats and other files of tracefs.
    pub tracing: Option<TracingData>,
    /// Build ids of files.
    pub build_ids: Vec<BuildId>,
    /// Records of the kernel.
    pub index: Index,
    /// Whether an event that came after a record says where the times of records before it are: the index cannot read
    /// these times again.
    pub(super) has_late_times: bool,
    /// User callchains that have their own records.
    pub deferred: Deferred,
    /// Records by type, all of them.
    pub counts: BTreeMap<u32, u64>,
    /// What simpleperf says, if it recorded.
    pub simpleperf: Option<Simpleperf>,
    /// The problems.
    pub problems: Problems,
    /// Decompressed records.
    pub arena: Arena,
    /// The place in the arena of each compressed record's content, and the record's place in the file.
    pub arena_origins: Vec<(u64, u64)>,
}

impl Recording {
    /// Begins with nothing read.
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
            has_late_times: false,
            deferred: Deferred::default(),
            counts: BTreeMap::new(),
            simpleperf: None,
            problems: Problems::default(),
            arena: Arena::default(),
            arena_origins: Vec::new(),
        }
    }

    /// Adds a record of so many bytes to the index. `is_own` is false if the time is that of the record before it.
    #[inline]
    pub(super) fn add(&mut self, (time, is_own): (u64, bool), (offset, is_in_arena): (u64, bool), size: u16) {
        let place = if is_in_arena { offset | IN_ARENA } else { offset };
        self.index.push(Entry { time, place }, size.into(), is_own);
    }

    /// Removes the last record of the index if it is at this place in the file.
    pub(super) fn drop_last(&mut self, offset: u64) {
        self.index.drop_last(offset);
    }

    /// Adds an event or an id of one.
    pub(super) fn change_events(&mut self, change: impl FnOnce(&mut Events)) {
        let before = self.events.time_places();
        change(&mut self.events);
        self.has_late_times |= !self.index.is_empty() && !self.events.have_times_as(before);
    }

    /// Gives the records in the order of the file.
    pub fn entries<'a>(&'a self, file: &'a [u8]) -> impl Iterator<Item = Entry> + 'a {
        self.index.entries(self, file)
    }

    /// Gives the record behind this one if it begins before `end`. Without an own time it has that of this record.
    #[inline]
    pub(super) fn following(&self, file: &[u8], entry: Entry, end: u64) -> Option<Entry> {
        let (header, _) = self.record(file, entry)?;
        if entry.place & IN_ARENA == 0 {
            fetch_ahead(file, entry.place as usize, header.size.into());
        }
        let place = entry.place.checked_add(header.size.into()).filter(|&place| place < end)?;
        let (header, body) = self.record(file, Entry { place, ..entry })?;
        Some(Entry { time: self.events.time(header, body).unwrap_or(entry.time), place })
    }

    /// Gives the header and the body of a record of the index.
    #[inline]
    pub fn record<'a>(&'a self, file: &'a [u8], entry: Entry) -> Option<(RecordHeader, &'a [u8])> {
        let bytes = if entry.place & IN_ARENA != 0 { self.arena.bytes() } else { file };
        record_at(bytes, (entry.place & !IN_ARENA) as usize, self.order)
    }

    /// Gives the place of a record in the arena; `None` for a record of the file.
    #[inline]
    pub fn arena_offset(&self, entry: Entry) -> Option<u64> {
        (entry.place & IN_ARENA != 0).then_some(entry.place & !IN_ARENA)
    }

    /// Gives the place of a record in the file, or of the compressed record that contained it.
    #[inline]
    pub fn file_offset(&self, entry: Entry) -> u64 {
        let offset = entry.place & !IN_ARENA;
        if entry.place & IN_ARENA == 0 {
            return offset;
        }
        let after = self.arena_origins.partition_point(|&(start, _)| start <= offset);
        after.checked_sub(1).map_or(0, |origin| self.arena_origins[origin].1)
    }
}

/// How far ahead of a record the bytes are fetched into the CPU's caches.
const AHEAD: usize = 2048;

/// Fetches what lies ahead of `size` bytes at `at` into the CPU's caches: a file is larger than they are, and the CPU's own
/// guess ends with each page.
#[inline]
pub(super) fn fetch_ahead(bytes: &[u8], at: usize, size: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (at..at + size).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing: any address is allowed.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(line + AHEAD).cast()) };
    }
}

/// Gives the header at `at`; `None` past the end.
#[inline]
pub fn header_at(bytes: &[u8], at: usize, order: ByteOrder) -> Option<RecordHeader> {
    let header = bytes.get(at..at.checked_add(HEADER_BYTES)?)?;
    Some(RecordHeader { kind: order.u32(header, 0)?, misc: order.u16(header, 4)?, size: order.u16(header, 6)? })
}

/// Gives the header at `at` and the body after it; `None` where they do not fit.
#[inline]
pub fn record_at(bytes: &[u8], at: usize, order: ByteOrder) -> Option<(RecordHeader, &[u8])> {
    let header = header_at(bytes, at, order)?;
    let body = bytes.get(at + HEADER_BYTES..at + usize::from(header.size))?;
    Some((header, body))
}
