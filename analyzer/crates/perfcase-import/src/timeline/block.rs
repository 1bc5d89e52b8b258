//! Requests to block devices: queued, merged, issued, requeued, completed.
//!
//! The events name a request only by its device and first sector, and both change on the way: a merge before the first
//! sector moves it, and after a completion in parts the rest begins at a later sector. So a request that waits is found
//! by the range of sectors that an issue covers, and a request under way by the first sector of its rest.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use crate::model::{NO_TIME, Utid};
use crate::tables::{BlockIoRow, Tables};

/// The place of requests without a place on the device: flushes and commands. The kernel says sector 0 when it issues
/// them, and the highest number when they complete.
const NO_PLACE: u64 = u64::MAX;
/// The most requests that begin within another one and end behind it: a disk has none, a bound for hostile input.
const MOST_ASTRIDE: usize = 256;

/// The step of a request that an event reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum BlockStep {
    /// The request was put on the device's queue.
    Queued,
    /// While it was queued, the request became a part of the request before it.
    Merged,
    /// The request was given to the device.
    Issued,
    /// The request was taken back from the device, and will be issued again.
    Requeued,
    /// The request, or a part of it, is done.
    Completed,
}

/// One event of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockEvent {
    pub clock_ns: i64,
    pub step: BlockStep,
    /// The kernel's dev_t: the major number in the high 12 bits, the minor number in the low 20.
    pub device: u32,
    pub sector: u64,
    pub sector_count: u64,
    pub size_bytes: u64,
    pub error: Option<i32>,
    pub utid: Option<Utid>,
    pub cpu: Option<u32>,
}

impl BlockEvent {
    fn has_place(&self) -> bool {
        let is_elsewhere = self.sector == NO_PLACE || (self.sector == 0 && self.sector_count == 0);
        !is_elsewhere
    }

    fn key(&self) -> (u32, u64) {
        (self.device, if self.has_place() { self.sector } else { NO_PLACE })
    }

    /// Gives the first sector after the request.
    fn end(&self) -> u64 {
        self.sector.saturating_add(self.sector_count)
    }
}

#[derive(Debug)]
pub(crate) struct Request {
    event: BlockEvent,
    queued: i64,
    issued: i64,
    completed: i64,
    /// The number of sectors that have not completed.
    rest: u64,
    merge_count: u32,
    requeue_count: u32,
    completion_count: u32,
    /// The request was merged into another one, whose row stands for both.
    is_merged: bool,
    is_ambiguous: bool,
    rwbs: Box<[u8]>,
    comm: Box<[u8]>,
}

impl Request {
    fn new(event: BlockEvent, rwbs: &[u8], comm: &[u8]) -> Request {
        Request {
            event,
            queued: NO_TIME,
            issued: NO_TIME,
            completed: NO_TIME,
            rest: event.sector_count,
            merge_count: 0,
            requeue_count: 0,
            completion_count: 0,
            is_merged: false,
            is_ambiguous: false,
            rwbs: rwbs.into(),
            comm: comm.into(),
        }
    }

    /// Adds the row of the request. `start` is the clock's reading in ns at `ts_ns` 0.
    pub(crate) fn write(&self, start: i64, tables: &mut Tables) {
        let ts = |clock_ns: i64| (clock_ns != NO_TIME).then(|| clock_ns.saturating_sub(start));
        let between = |from: i64, to: i64| (from != NO_TIME && to != NO_TIME).then(|| to.saturating_sub(from));
        let event = &self.event;
        let device = format!("{},{}", event.device >> 20, event.device & 0xf_ffff);
        tables.block_io.push(BlockIoRow {
            ts_ns: self.first().saturating_sub(start),
            queued_ts_ns: ts(self.queued),
            issued_ts_ns: ts(self.issued),
            completed_ts_ns: ts(self.completed),
            queue_ns: between(self.queued, self.issued),
            latency_ns: between(self.issued, self.completed),
            device: &device,
            sector: event.has_place().then_some(event.sector),
            size_bytes: event.size_bytes,
            operation: operation(&self.rwbs),
            rwbs: &self.rwbs,
            error: if self.completed == NO_TIME { None } else { event.error },
            merge_count: self.merge_count,
            requeue_count: self.requeue_count,
            completion_count: self.completion_count,
            is_ambiguous: self.is_ambiguous,
            utid: event.utid,
            cpu: event.cpu,
            comm: (!self.comm.is_empty()).then_some(&*self.comm),
        });
    }

    /// Gives the time when it was issued to the device; without a known issue, when it was queued or completed.
    fn first(&self) -> i64 {
        [self.issued, self.queued, self.completed].into_iter().find(|&t| t != NO_TIME).unwrap_or(self.event.clock_ns)
    }
}

fn earlier(a: i64, b: i64) -> i64 {
    if a == NO_TIME || (b != NO_TIME && b < a) { b } else { a }
}

#[derive(Default)]
pub(crate) struct Block {
    /// Requests that wait, by device and first sector.
    waiting: BTreeMap<(u32, u64), Request>,
    /// Requests under way, by device and the first sector that has not completed.
    under_way: HashMap<(u32, u64), Vec<Request>>,
    done: Vec<Request>,
    count: u64,
    /// Requests that were issued and may have parts that were not looked at.
    pub(crate) cut_count: u64,
}

impl Block {
    /// Gives the number of events.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn event(&mut self, event: BlockEvent, rwbs: &[u8], comm: &[u8]) {
        self.count += 1;
        let request = Request::new(event, rwbs, comm);
        match event.step {
            BlockStep::Queued => self.queue(request),
            BlockStep::Merged => {
                if let Some(merged) = self.waiting.get_mut(&event.key()) {
                    merged.is_merged = true;
                }
            }
            BlockStep::Issued => self.issue(request),
            BlockStep::Requeued => self.requeue(request),
            BlockStep::Completed => self.complete(request),
        }
    }

    fn queue(&mut self, mut request: Request) {
        let key = request.event.key();
        request.queued = request.event.clock_ns;
        match self.waiting.get_mut(&key) {
            // The request was queued again after it was taken back from the device.
            Some(back) if back.requeue_count > 0 => back.queued = earlier(back.queued, request.queued),
            _ => self.done.extend(self.waiting.insert(key, request)),
        }
    }

    /// Issues a request. It consists of the requests that wait within its range of sectors.
    fn issue(&mut self, mut request: Request) {
        let event = request.event;
        let (device, first) = event.key();
        let last = if event.has_place() { (device, event.end().saturating_sub(1).max(first)) } else { (device, first) };
        let is_part = |part: &Request| !event.has_place() || part.event.end() <= event.end();
        let (mut parts, mut astride_count) = (Vec::new(), 0);
        for (key, waiting) in self.waiting.range((device, first)..=last) {
            if is_part(waiting) {
                parts.push(*key);
            } else if astride_count < MOST_ASTRIDE {
                astride_count += 1;
            } else {
                self.cut_count += 1;
                break;
            }
        }
        for (merged, part) in parts.iter().filter_map(|key| self.waiting.remove(key)).enumerate() {
            request.queued = earlier(request.queued, part.queued);
            request.requeue_count = request.requeue_count.max(part.requeue_count);
            request.merge_count = request.merge_count.max(part.merge_count).max(merged as u32);
        }
        request.issued = event.clock_ns;
        let others = self.under_way.entry((device, first)).or_default();
        request.is_ambiguous = !others.is_empty();
        others.iter_mut().for_each(|other| other.is_ambiguous = true);
        others.push(request);
    }

    /// Takes the request that an event is about. If several begin at the same place, it is the one that was issued
    /// last: then a lost completion does no harm to later requests.
    fn take(&mut self, event: &BlockEvent, rwbs: &[u8]) -> Option<Request> {
        let at = self.under_way.get_mut(&event.key())?;
        let fits = |request: &Request| !event.has_place() || event.sector_count > 0 || request.event.sector_count == 0;
        let same = at.iter().rposition(|request| fits(request) && *request.rwbs == *rwbs);
        let found = same.or_else(|| at.iter().rposition(fits))?;
        let request = at.remove(found);
        if at.is_empty() {
            self.under_way.remove(&event.key());
        }
        Some(request)
    }

    fn requeue(&mut self, back: Request) {
        let key = back.event.key();
        // A driver may refuse a request several times before it is issued again.
        let taken = self.take(&back.event, &back.rwbs).or_else(|| self.waiting.remove(&key));
        let mut request = taken.unwrap_or(back);
        request.issued = NO_TIME;
        request.requeue_count += 1;
        self.done.extend(self.waiting.insert(key, request));
    }

    fn complete(&mut self, part: Request) {
        let event = part.event;
        let Some(mut request) = self.take(&event, &part.rwbs) else {
            self.done.push(Request { completed: event.clock_ns, completion_count: 1, ..part });
            return;
        };
        request.completion_count += 1;
        request.event.error = match request.event.error {
            Some(error) if error != 0 => Some(error),
            _ => event.error,
        };
        request.rest = if event.has_place() { request.rest.saturating_sub(event.sector_count) } else { 0 };
        if request.rest == 0 {
            request.completed = event.clock_ns;
            self.done.push(request);
            return;
        }
        // The rest is still under way, and begins at a later sector.
        let others = self.under_way.entry((event.device, event.end())).or_default();
        request.is_ambiguous |= !others.is_empty();
        others.iter_mut().for_each(|other| other.is_ambiguous = true);
        others.push(request);
    }

    /// Gives every request: those that are done, and those that the end of the capture cut.
    pub(crate) fn settled(mut self) -> Vec<Request> {
        self.done.extend(self.waiting.into_values());
        self.done.extend(self.under_way.into_values().flatten());
        self.done.retain(|request| !(request.is_merged && request.issued == NO_TIME));
        self.done
            .sort_by_key(|request| (request.first(), request.event.device, request.event.sector, request.completed));
        self.done
    }
}

/// Gives the operation that the kernel's flags ask for (blk_fill_rwbs). The first letter says it, or the letter after
/// an F, which is a flush before the operation.
fn operation(rwbs: &[u8]) -> &'static [u8] {
    let after = match rwbs {
        [b'F', b'F', ..] => return b"flush",
        [b'F', after @ ..] => after,
        all => all,
    };
    match after.first() {
        Some(b'R') => b"read",
        Some(b'W') => b"write",
        Some(b'D') => b"discard",
        Some(b'F') => b"flush",
        Some(b'Z') => b"zone",
        None if rwbs == b"F" => b"flush",
        _ => b"other",
    }
}

#[cfg(test)]
#[path = "block_tests.rs"]
mod tests;
